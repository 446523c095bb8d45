package upstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/discovery"
)

// catalogMinAge is how long an answer of discovery, or its failure, is believed when a resource is not known: a storm
// of requests for a resource that does not exist costs the upstream one discovery per period.
const catalogMinAge = time.Second

// Catalog knows which resources the upstream serves. It is filled by discovery, and asked again when a resource is
// unknown (a CRD may have appeared a moment ago).
type Catalog struct {
	client  *Client
	styles  *styles
	flight  singleflight.Group
	content atomic.Pointer[catalogContent]
	last    atomic.Pointer[attempt]

	mu       sync.Mutex  // guards heard, and writes of content
	received apiServices // while APIServices are followed; else nil
}

// attempt is one reading of discovery.
type attempt struct {
	err  error
	when time.Time
}

type catalogContent struct {
	resources    map[schema.GroupVersionResource]discovered
	subresources map[schema.GroupVersionResource]bool // as "pods/status"
	builtIn      map[string]bool                      // groups that the upstream itself defines
	own          map[schema.GroupVersion]bool         // what the upstream itself answers for: built in, or custom
	services     apiServices                          // by which it was made
}

// discovered is a resource as discovery describes it.
type discovered struct {
	Resource
	unsettled bool // whether it is custom has to be asked
}

// NewCatalog makes an empty catalog; Refresh or the first Lookup fills it.
func NewCatalog(client *Client) *Catalog {
	return &Catalog{client: client, styles: newStyles(client)}
}

// Known tells whether discovery was ever read.
func (c *Catalog) Known() bool { return c.content.Load() != nil }

// Lookup finds a resource; the second result is false when the upstream does not serve it. An unknown resource is
// looked for in the upstream's discovery again, at most once a second. It may take one question more to find out
// whether a resource is custom.
func (c *Catalog) Lookup(ctx context.Context, gvr schema.GroupVersionResource) (Resource, bool, error) {
	r, ok, err := c.find(ctx, gvr)
	if err != nil || !ok {
		return Resource{}, false, err
	}
	if r.Cacheable && r.unsettled {
		if r.Custom, err = c.styles.custom(ctx, r.Resource); err != nil {
			return Resource{}, false, err
		}
	}
	return r.Resource, true, nil
}

func (c *Catalog) find(ctx context.Context, gvr schema.GroupVersionResource) (discovered, bool, error) {
	if r, ok := c.known(gvr); ok {
		return r, true, nil
	}
	if last := c.last.Load(); last != nil && time.Since(last.when) < catalogMinAge {
		return discovered{}, false, last.err
	}
	if err := c.Refresh(ctx); err != nil {
		return discovered{}, false, err
	}
	r, ok := c.known(gvr)
	return r, ok, nil
}

func (c *Catalog) known(gvr schema.GroupVersionResource) (discovered, bool) {
	content := c.content.Load()
	if content == nil {
		return discovered{}, false
	}
	r, ok := content.resources[gvr]
	return r, ok
}

// BuiltIn tells whether the upstream itself defines a group, rather than somebody's CustomResourceDefinitions or
// another server. Where the facade may not read APIServices, a group that might be custom counts as built in.
func (c *Catalog) BuiltIn(ctx context.Context, group string) (bool, error) {
	if !c.Known() {
		if err := c.Refresh(ctx); err != nil {
			return false, err
		}
	}
	return c.content.Load().builtIn[group], nil
}

// Own tells whether the upstream itself answers for a group version, rather than another server behind its aggregation
// layer. What was not discovered, or not yet, is not known to be its own.
func (c *Catalog) Own(ctx context.Context, gv schema.GroupVersion) bool {
	if !c.Known() && c.Refresh(ctx) != nil {
		return false
	}
	return c.content.Load().own[gv]
}

// BuiltIns are the resources, in the order of their names, that the upstream itself defines and that can be cached, as
// far as discovery was read.
func (c *Catalog) BuiltIns() []Resource {
	content := c.content.Load()
	if content == nil {
		return nil
	}
	var all []Resource
	for gvr, r := range content.resources {
		if r.Cacheable && !r.Custom && content.builtIn[gvr.Group] {
			all = append(all, r.Resource)
		}
	}
	slices.SortFunc(all, func(a, b Resource) int { return strings.Compare(a.Path(""), b.Path("")) })
	return all
}

// HasSubresource tells whether a resource that was looked up has a subresource, as "status".
func (c *Catalog) HasSubresource(gvr schema.GroupVersionResource, subresource string) bool {
	content := c.content.Load()
	gvr.Resource += "/" + subresource
	return content != nil && content.subresources[gvr]
}

// Names tells, without asking the upstream, whether discovery named a resource, with the subresource if that is not
// empty.
func (c *Catalog) Names(gvr schema.GroupVersionResource, subresource string) bool {
	if subresource != "" && !c.HasSubresource(gvr, subresource) {
		return false
	}
	_, known := c.known(gvr)
	return known
}

// Forget drops what is known of a resource, so that the next Lookup asks the upstream: the resource is gone, or it is
// another one now. Whether it is custom will be asked, rather than believed.
func (c *Catalog) Forget(gvr schema.GroupVersionResource) {
	c.styles.forget(gvr)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(func(known schema.GroupVersionResource) bool { return known == gvr })
}

// drop forgets resources, and reports whether there were any. The caller holds mu.
func (c *Catalog) drop(which func(schema.GroupVersionResource) bool) (dropped bool) {
	content := c.content.Load()
	if content == nil {
		return false
	}
	without := *content
	without.resources = maps.Clone(content.resources)
	maps.DeleteFunc(without.resources, func(gvr schema.GroupVersionResource, _ discovered) bool { return which(gvr) })
	c.content.Store(&without)
	return len(without.resources) < len(content.resources)
}

// hears takes down what APIServices say from now on; nil when they are not followed. What is known of group versions of
// which they say something else is forgotten, and what is being read at the moment goes by them. It reports whether
// anything was.
func (c *Catalog) receives(services apiServices) (forgotten bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received = services
	content := c.content.Load()
	if services == nil || content == nil {
		return false
	}
	forgotten = c.drop(func(gvr schema.GroupVersionResource) bool {
		return !services.same(content.services, gvr.GroupVersion())
	})
	now := *c.content.Load()
	now.own, now.builtIn = maps.Clone(content.own), maps.Clone(content.builtIn)
	for gv := range content.own {
		if services.foreign(gv) {
			delete(now.own, gv)
			delete(now.builtIn, gv.Group)
		}
	}
	c.content.Store(&now)
	return forgotten
}

// services are those that were heard of, or else asked for.
func (c *Catalog) services(ctx context.Context) (apiServices, error) {
	c.mu.Lock()
	heard := c.received
	c.mu.Unlock()
	if heard != nil {
		return heard, nil
	}
	return c.client.apiServices(ctx)
}

// Match finds what an operator means by "pods" or "deployments.apps" or "widgets.v1.ex.io".
func (c *Catalog) Match(name string) (schema.GroupVersionResource, error) {
	content := c.content.Load()
	if content == nil {
		return schema.GroupVersionResource{}, errors.New("discovery was not read yet")
	}
	var found []schema.GroupVersionResource
	for gvr, r := range content.resources {
		full := strings.TrimSuffix(gvr.Resource+"."+gvr.Version+"."+gvr.Group, ".")
		group := strings.TrimSuffix(gvr.Resource+"."+gvr.Group, ".")
		if r.Cacheable && (name == full || name == group || (name == gvr.Resource && gvr.Group == "")) {
			found = append(found, gvr)
		}
	}
	if len(found) == 0 {
		return schema.GroupVersionResource{}, fmt.Errorf("no resource %q that can be listed and watched", name)
	}
	slices.SortFunc(found, func(a, b schema.GroupVersionResource) int { return strings.Compare(a.Version, b.Version) })
	return found[0], nil
}

// Refresh reads the upstream's discovery. Callers at the same time share one reading, which no single caller's context
// ends.
func (c *Catalog) Refresh(ctx context.Context) error {
	done := c.flight.DoChan("", func() (any, error) {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err := c.refresh(detached)
		c.last.Store(&attempt{err: err, when: time.Now()})
		return nil, err
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Catalog) refresh(ctx context.Context) error {
	served, err := discovery.Read(ctx, c.client.discover)
	if err != nil {
		return fmt.Errorf("discover the upstream's resources: %w", err)
	}
	services, err := c.services(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.received != nil {
		services = c.received // meanwhile
	}
	content := &catalogContent{
		services: services, resources: map[schema.GroupVersionResource]discovered{},
		subresources: map[schema.GroupVersionResource]bool{}, builtIn: map[string]bool{}, own: map[schema.GroupVersion]bool{},
	}
	// What could not be read, as of a broken aggregated API, must not hide everything else.
	for _, group := range served.Groups {
		for _, version := range group.Versions {
			c.add(content, version, services)
		}
	}
	if len(content.resources) == 0 {
		return errors.New("discover the upstream's resources: there are none")
	}
	c.styles.retain(func(gvr schema.GroupVersionResource) bool {
		_, there := content.resources[gvr]
		return there
	})
	c.content.Store(content)
	return nil
}

// add takes up one group version.
func (c *Catalog) add(content *catalogContent, version discovery.Version, services apiServices) {
	gv := version.GroupVersion
	foreign := services.foreign(gv)
	content.own[gv] = !foreign
	custom, known := services.custom(gv)
	if !foreign && !custom {
		content.builtIn[gv.Group] = true
	}
	for _, r := range version.Resources {
		gvr := gv.WithResource(r.Name)
		if strings.Contains(r.Name, "/") {
			content.subresources[gvr] = true
			continue
		}
		resource := discovered{Resource: Resource{
			GVR: gvr, GVK: gv.WithKind(r.Kind), Namespaced: r.Namespaced,
			Cacheable: slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") && !foreign,
		}}
		if known && c.styles.believes(gvr) {
			resource.Custom = custom
		} else {
			resource.unsettled = true
		}
		content.resources[gvr] = resource
	}
}

// discover is the discovery.Ask of this client.
func (c *Client) discover(ctx context.Context, path, accept string) ([]byte, error) {
	body, err := c.Get(ctx, Target{Path: path}, accept, discovery.Limit)
	switch {
	case HasCode(err, http.StatusNotFound):
		err = fmt.Errorf("%w: %w", discovery.ErrNotFound, err)
	case HasCode(err, http.StatusLoopDetected):
		err = errLoop
	}
	return body, err
}
