package upstream

import (
	"context"
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// aggregation follows what the upstream's aggregation layer says of its group versions. One goroutine uses it.
type aggregation struct {
	catalog *Catalog
	changed func(foreign func(schema.GroupVersion) bool)
	failed  func(error)
	refresh func()
	now     apiServices // nil before the first list; what was handed out is not changed any more
}

// Follow follows APIServices until the context ends. What they say of a group version counts from when it was heard.
// changed is called with each change, and reports from then on for which group versions another server answers, or may;
// failed is called with why APIServices cannot be followed, and with nil when they can.
func (c *Catalog) Follow(ctx context.Context, changed func(foreign func(schema.GroupVersion) bool), failed func(error)) {
	a := &aggregation{catalog: c, changed: changed, failed: failed, refresh: func() { _ = c.Refresh(ctx) }}
	c.client.Follow(ctx, Followed{
		Path: apiServicesPath, List: MediaJSON, Watch: MediaJSON, Listed: a.listed, Changed: a.receives, Failed: a.fails,
	})
}

func (a *aggregation) listed(objects []json.RawMessage) error {
	services, err := readServices(objects)
	if err == nil {
		a.becomes(services)
	}
	return err
}

func (a *aggregation) receives(event string, object json.RawMessage) {
	gv, service, err := readService(object)
	if err != nil {
		a.fails(err)
		return
	}
	services := maps.Clone(a.now)
	if services[gv] = service; event == "DELETED" {
		delete(services, gv)
	}
	a.becomes(services)
}

// becomes makes the catalog, and then everybody else, go by what was heard.
func (a *aggregation) becomes(services apiServices) {
	same := a.now != nil && maps.Equal(a.now, services)
	a.now = services
	if a.catalog.receives(services) {
		a.refresh() // with an error the next lookup asks
	}
	if !same {
		a.changed(services.foreign)
	}
}

// fails makes the catalog ask for APIServices itself, while they are not followed.
func (a *aggregation) fails(err error) {
	if err != nil {
		a.catalog.receives(nil)
	}
	a.failed(err)
}
