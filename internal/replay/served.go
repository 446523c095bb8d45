package replay

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/discovery"
	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// served has the resources of the cluster, as the recorded documents describe them. Safe for concurrent use.
type served struct {
	documents *documents
	later     *documents // documents at the time of Open, for resources that are defined only later
	resources map[schema.GroupVersionResource]upstream.Resource
	encodings []wire.Encoding
	now       func() time.Time // replayed time; valid when requests are served
	writes    *sync.RWMutex
}

// newServed reads the resources that discovery has at the replayed moment, and the resources that are defined later.
// Which of these resources a client sees depends on the discovery documents that the client receives.
func newServed(ctx context.Context, d, later *documents, now func() time.Time) (*served, error) {
	s := &served{documents: d, later: later, resources: map[schema.GroupVersionResource]upstream.Resource{},
		encodings: facade.Encodings(), now: now, writes: new(sync.RWMutex)}
	for _, from := range []*documents{later, d} { // d is read last and takes precedence
		found, err := discovery.Read(ctx, from.discover)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errNoDiscovery, err)
		}
		s.add(found)
	}
	return s, nil
}

func (s *served) add(found *discovery.Served) {
	for _, group := range found.Groups {
		for _, version := range group.Versions {
			for _, r := range version.Resources {
				gvr := version.WithResource(r.Name)
				s.resources[gvr] = upstream.Resource{GVR: gvr, GVK: version.WithKind(r.Kind), Namespaced: r.Namespaced}
			}
		}
	}
}

// definition returns the definition of a custom resource, or nil if it was not recorded.
func (s *served) definition(gr schema.GroupResource) []byte {
	if d := s.documents.definition(gr); d != nil {
		return d
	}
	return s.later.definition(gr)
}

func (s *served) encoding(name string) wire.Encoding {
	for _, e := range s.encodings {
		if e.Name() == name {
			return e
		}
	}
	return nil
}

func (s *served) newLane(id journal.Identity, encoding string) (*lane, error) {
	resource, err := s.resource(id)
	if err != nil {
		return nil, err
	}
	l := &lane{resource: resource, encoding: s.encoding(encoding), served: s}
	if l.encoding == nil {
		return nil, fmt.Errorf("unknown encoding %q", encoding)
	}
	if err := l.adopt(id); err != nil {
		return nil, err
	}
	l.store = cache.NewLane(cache.Options{Scope: l.form.Load().about.Scope()})
	return l, nil
}

func (s *served) resource(id journal.Identity) (upstream.Resource, error) {
	gvr, err := id.GVR()
	if err != nil {
		return upstream.Resource{}, err
	}
	resource, ok := s.resources[gvr]
	if !ok {
		return upstream.Resource{}, fmt.Errorf("discovery does not list %s", id.Resource)
	}
	resource.Custom, resource.Cacheable = id.Definition != "", true
	return resource, nil
}
