package questions

import (
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// chainQuestions returns fewer questions than for a single facade, because a chain does not change representations.
func chainQuestions() int { return settings.Amount(40, 100) }

// TestChain sends random questions to the last of three facades in a row.
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
