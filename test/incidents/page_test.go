package incidents

import (
	"fmt"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/page"
	"github.com/listfacade/listfacade/internal/testkit"
)

// pageSays waits until the operator's page names a problem, in a line or in what is known of it besides, by a text.
func (o *operator) pageSays(t *testing.T, text string) {
	t.Helper()
	testkit.Eventually(t, "the operator's page says "+text, func() error {
		status := o.page(t)
		for _, p := range status.Problems {
			if strings.Contains(p.What+" "+p.Detail, text) {
				return nil
			}
		}
		return fmt.Errorf("%+v", status.Problems)
	})
}

// page is what the operator's page shows, its clients by the objects that they were sent.
func (o *operator) page(t *testing.T) page.Status {
	t.Helper()
	var status page.Status
	o.ask(t, "/debug/status?output=json&clients=objects", &status)
	return status
}

// pageLane is what the operator's page shows of the lane of a resource in JSON.
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
