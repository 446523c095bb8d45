package upstream

import (
	"context"
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// aggregation passes changes of APIServices to the catalog and to the caller of Catalog.Follow. Only the goroutine of
// Follow uses it.
type aggregation struct {
	catalog *Catalog
	changed func(foreign func(schema.GroupVersion) bool)
	failed  func(error)
	refresh func()
	now     apiServices // APIServices as last received; nil before the first list. Never modified after it is shared
}

// Follow watches APIServices until the context ends. After each change it calls changed(foreign). foreign reports
// whether a server other than the upstream may serve a group version. Follow calls failed(err) when APIServices cannot
// be followed, and failed(nil) when the watch is open.
func (c *Catalog) Follow(ctx context.Context, changed func(foreign func(schema.GroupVersion) bool),
	failed func(error)) {
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

// becomes stores new APIServices. It updates the catalog before it calls a.changed, which may read the catalog.
func (a *aggregation) becomes(services apiServices) {
	same := a.now != nil && maps.Equal(a.now, services)
	a.now = services
	if a.catalog.receives(services) {
		a.refresh() // if this fails, the next lookup reads discovery again
	}
	if !same {
		a.changed(services.foreign)
	}
}

// fails reports an error of the watch, or nil when the watch is open. After an error, the catalog lists APIServices
// itself until they are followed again.
func (a *aggregation) fails(err error) {
	if err != nil {
		a.catalog.receives(nil)
	}
	a.failed(err)
}
