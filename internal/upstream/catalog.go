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

// catalogMinAge is the minimum time between two reads of discovery for unknown resources. Requests for a resource that
// does not exist then cost the upstream little. The limit includes failed reads.
const catalogMinAge = time.Second

// Catalog is the list of resources in the upstream's discovery. When a resource is unknown, discovery is read again,
// because a CRD may have been created in the meantime. Safe for concurrent use.
type Catalog struct {
	client  *Client
	styles  *styles
	flight  singleflight.Group
	content atomic.Pointer[catalogContent]
	last    atomic.Pointer[attempt]

	mu       sync.Mutex  // guards received, and writes of content
	received apiServices // latest APIServices from Follow; nil while they are not followed
}

type attempt struct {
	err  error
	when time.Time
}

type catalogContent struct {
	resources    map[schema.GroupVersionResource]discovered
	subresources map[schema.GroupVersionResource]bool // for example "pods/status"
	builtIn      map[string]bool                      // groups that the upstream itself defines
	own          map[schema.GroupVersion]bool         // group versions that the upstream itself serves
	services     apiServices                          // APIServices from which this content was computed
}

type discovered struct {
	Resource
	unsettled bool // true if discovery and APIServices do not show whether the resource is custom
}

// NewCatalog returns an empty catalog. Refresh or the first Lookup fills it.
func NewCatalog(client *Client) *Catalog {
	return &Catalog{client: client, styles: newStyles(client)}
}

// Known reports whether discovery has been read successfully.
func (c *Catalog) Known() bool { return c.content.Load() != nil }

// Lookup finds a resource. The second result is false when the upstream does not serve it. For an unknown resource,
// Lookup reads discovery again, at most once a second. It may also request an empty list to find out whether the
// resource is custom.
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

// BuiltIn reports whether a group is built into the upstream. Other groups are defined by a CustomResourceDefinition or
// served by an aggregated API server. If APIServices cannot be read, a group that may be custom counts as built in.
func (c *Catalog) BuiltIn(ctx context.Context, group string) (bool, error) {
	if !c.Known() {
		if err := c.Refresh(ctx); err != nil {
			return false, err
		}
	}
	return c.content.Load().builtIn[group], nil
}

// Own reports whether the upstream itself, not an aggregated API server, serves a group version. It is false for a
// group version that discovery did not list, and while discovery cannot be read.
func (c *Catalog) Own(ctx context.Context, gv schema.GroupVersion) bool {
	if !c.Known() && c.Refresh(ctx) != nil {
		return false
	}
	return c.content.Load().own[gv]
}

// BuiltIns returns the cacheable resources that are built into the upstream, sorted by path. The result is empty before
// discovery was read.
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

// HasSubresource reports whether discovery listed a subresource of a resource, such as "status".
func (c *Catalog) HasSubresource(gvr schema.GroupVersionResource, subresource string) bool {
	content := c.content.Load()
	gvr.Resource += "/" + subresource
	return content != nil && content.subresources[gvr]
}

// Names reports whether discovery listed a resource and, if subresource is not empty, that subresource. Unlike Lookup,
// it sends no request.
func (c *Catalog) Names(gvr schema.GroupVersionResource, subresource string) bool {
	if subresource != "" && !c.HasSubresource(gvr, subresource) {
		return false
	}
	_, known := c.known(gvr)
	return known
}

// Forget drops a resource that was deleted or defined again, so that the next Lookup reads discovery. If the resource
// still exists, that Lookup also requests an empty list, because the APIServices may be out of date for the resource.
func (c *Catalog) Forget(gvr schema.GroupVersionResource) {
	c.styles.forget(gvr)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(func(known schema.GroupVersionResource) bool { return known == gvr })
}

// drop removes the resources for which the argument returns true. It reports whether it removed any. The caller holds
// mu.
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

// receives stores the current APIServices; nil means that APIServices are not followed. It drops the resources of group
// versions whose APIService has changed, and reports whether it dropped any. A read of discovery in progress uses the
// new APIServices.
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

func (c *Catalog) services(ctx context.Context) (apiServices, error) {
	c.mu.Lock()
	followed := c.received
	c.mu.Unlock()
	if followed != nil {
		return followed, nil
	}
	return c.client.apiServices(ctx)
}

// Match finds a cacheable resource by a name such as "pods", "deployments.apps" or "widgets.v1.ex.io".
func (c *Catalog) Match(name string) (schema.GroupVersionResource, error) {
	content := c.content.Load()
	if content == nil {
		return schema.GroupVersionResource{}, errors.New("discovery has not been read yet")
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
		return schema.GroupVersionResource{}, fmt.Errorf("no resource %q that can be cached", name)
	}
	slices.SortFunc(found, func(a, b schema.GroupVersionResource) int { return strings.Compare(a.Version, b.Version) })
	return found[0], nil
}

// Refresh reads the upstream's discovery. Concurrent callers share one read, which continues when the context of one
// caller ends.
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
		services = c.received // Follow may have received newer APIServices during the read
	}
	content := &catalogContent{
		services: services, resources: map[schema.GroupVersionResource]discovered{},
		subresources: map[schema.GroupVersionResource]bool{}, builtIn: map[string]bool{}, own: map[schema.GroupVersion]bool{},
	}
	// An unreadable group version, for example of a broken aggregated API, does not hide other group versions.
	for _, group := range served.Groups {
		for _, version := range group.Versions {
			c.add(content, version, services)
		}
	}
	if len(content.resources) == 0 {
		return errors.New("discover the upstream's resources: discovery lists no resource")
	}
	c.styles.retain(func(gvr schema.GroupVersionResource) bool {
		_, there := content.resources[gvr]
		return there
	})
	c.content.Store(content)
	return nil
}

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
		if known && c.styles.trusts(gvr) {
			resource.Custom = custom
		} else {
			resource.unsettled = true
		}
		content.resources[gvr] = resource
	}
}

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
