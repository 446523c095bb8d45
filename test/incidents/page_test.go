package incidents

import (
	"fmt"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/page"
	"github.com/listfacade/listfacade/internal/testkit"
)

// pageSays waits until a problem on the operator's page contains a text, in its line or its details.
func (o *operator) pageSays(t *testing.T, text string) {
	t.Helper()
	testkit.Eventually(t, "the operator's page shows "+text, func() error {
		status := o.page(t)
		for _, p := range status.Problems {
			if strings.Contains(p.What+" "+p.Detail, text) {
				return nil
			}
		}
		return fmt.Errorf("%+v", status.Problems)
	})
}

// page returns the content of the operator's page, with clients by the number of objects sent to them.
func (o *operator) page(t *testing.T) page.Status {
	t.Helper()
	var status page.Status
	o.ask(t, "/debug/status?output=json&clients=objects", &status)
	return status
}

// pageLane returns the operator's page's entry of a resource's JSON lane.
func (o *operator) pageLane(t *testing.T, resource string) page.Lane {
	t.Helper()
	status := o.page(t)
	for _, lane := range status.Lanes {
		if lane.Resource == resource && lane.Encoding == "json" {
			return lane
		}
	}
	t.Fatalf("%+v", status.Lanes)
	return page.Lane{}
}
