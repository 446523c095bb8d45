package incidents

import (
	"fmt"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/page"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// pageSays waits until the operator's page names a problem, in a line or in what is known of it besides, by a text.
func (o *operator) pageSays(t *testing.T, text string) {
	t.Helper()
	testkit.Eventually(t, suite.Within, "the operator's page says "+text, func() error {
		var status page.Status
		o.ask(t, "/debug/status?output=json", &status)
		for _, p := range status.Problems {
			if strings.Contains(p.What+" "+p.Detail, text) {
				return nil
			}
		}
		return fmt.Errorf("%+v", status.Problems)
	})
}
