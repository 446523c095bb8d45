package questions

import (
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// chainQuestions returns fewer questions than those of a single facade: what three could do wrong together is not in
// the answers' form.
func chainQuestions() int { return settings.Amount(40, 100) }

// TestChain asks questions made at random of the last of three facades in a row.
func TestChain(t *testing.T) {
	seed := settings.Seed(t)
	chain := suite.StartChain(t, suite.Furnished(t), 3)
	c := conformanceOf(suite.OracleOf(t, chain[2]), seed)
	stir(t)
	grammar := testkit.NewGrammar(seed, subjectsOf(t))
	for i := 0; i < chainQuestions() && !c.enough(); i++ {
		c.ask(t, i, grammar.Question())
	}
	c.streams.Wait()
}
