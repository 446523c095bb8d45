package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
)

const askServices = testkit.Ask("/apis/apiregistration.k8s.io/v1/apiservices")

func newCatalog(t *testing.T, r *rig) *Catalog {
	t.Helper()
	return NewCatalog(r.client)
}

// localServices answers with APIServices of groups that the upstream serves itself. They do not say whether the groups
// are custom.
func localServices(groups ...string) http.HandlerFunc {
	var items []string
	for _, group := range groups {
		items = append(items, fmt.Sprintf(`{"spec":{"group":%q,"version":"v1"}}`, group))
	}
	return jsonText(`{"kind":"APIServiceList","metadata":{"resourceVersion":"1"},"items":[` + strings.Join(items, ",") + `]}`)
}

// serve adds groups to the fake's discovery, each with a custom resource that can be listed. Their APIServices do not
// say that it is custom.
func serve(r *rig, groups ...string) {
	var list []string
	for _, group := range groups {
		gv := group + "/v1"
		list = append(list, fmt.Sprintf(`{"name":%q,"versions":[{"groupVersion":%q,"version":"v1"}]}`, group, gv))
		r.Script(testkit.Ask("/apis/"+gv), text(fmt.Sprintf(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[`+
			`{"name":"things","singularName":"","namespaced":true,"kind":"Thing","verbs":["get","list","watch"]},`+
			`{"name":"things/status","singularName":"","namespaced":true,"kind":"Thing","verbs":["get","patch"]},`+
			`{"name":"reviews","singularName":"","namespaced":false,"kind":"Review","verbs":["create"]}]}`, gv)))
		r.Script(listOf(group), text(fmt.Sprintf(`{"apiVersion":%q,"kind":"ThingList","metadata":{"resourceVersion":"1"},"items":[]}`, gv)))
	}
	if !r.Scripted(askServices) {
		r.Script(askServices, localServices(append(groups, "")...))
	}
	r.Script(apis, jsonText(`{"kind":"APIGroupList","apiVersion":"v1","groups":[`+strings.Join(list, ",")+`]}`))
}

// listOf matches the request that finds out whether things of a group are custom.
func listOf(group string) testkit.Ask {
	return testkit.Ask("/apis/" + group + "/v1/namespaces/default/things")
}

func jsonText(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}
}

func things(group string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
}

func lookup(t *testing.T, c *Catalog, gvr schema.GroupVersionResource) (Resource, bool) {
	t.Helper()
	resource, ok, err := c.Lookup(t.Context(), gvr)
	if err != nil {
		t.Fatal(err)
	}
	return resource, ok
}

func TestCatalog(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		c := newCatalog(t, r)
		if _, err := c.Match("configmaps"); err == nil || c.Known() {
			t.Error("Known before discovery was read")
		}
		serve(r, "ex.io")
		got, ok := lookup(t, c, things("ex.io"))
		want := Resource{
			GVR: things("ex.io"), GVK: schema.GroupVersionKind{Group: "ex.io", Version: "v1", Kind: "Thing"}, Namespaced: true, Custom: true, Cacheable: true,
		}
		if !ok || got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if reviews, ok := lookup(t, c, things("ex.io").GroupVersion().WithResource("reviews")); !ok || reviews.Cacheable || reviews.Namespaced {
			t.Errorf("got %+v, want a resource that is not cacheable", reviews)
		}
		if _, ok := lookup(t, c, things("ex.io").GroupVersion().WithResource("things/status")); ok {
			t.Error("a subresource was found as a resource")
		}
		for name, want := range map[string]string{
			"configmaps": "/v1, Resource=configmaps", "things.ex.io": "ex.io/v1, Resource=things", "things.v1.ex.io": "ex.io/v1, Resource=things",
			"configmaps.v1": "/v1, Resource=configmaps", "things": "", "reviews.ex.io": "", "nope": "",
		} {
			if got, err := c.Match(name); (err != nil) != (want == "") || err == nil && got.String() != want {
				t.Errorf("match %q: %s, %v", name, got, err)
			}
		}
	})
}

// Many lookups of a resource that does not exist cost one discovery a second, also while discovery fails.
func TestCatalogReadsDiscoveryOnceASecond(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"found nothing": nil, "apiservices fail": testkit.Refuse(http.StatusInternalServerError, "InternalError"),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				c := newCatalog(t, r)
				r.Script(askServices, answer)
				began := time.Now()
				for time.Since(began) < 10*time.Second {
					var wait sync.WaitGroup
					for range 10 {
						wait.Go(func() {
							_, ok, err := c.Lookup(t.Context(), things("nope.io"))
							if ok || (err != nil) != (answer != nil) {
								t.Errorf("found %t, %v", ok, err)
							}
						})
					}
					wait.Wait()
					elapse(10 * time.Millisecond)
				}
				if n := r.Asked(askServices); n < 9 || n > 13 {
					t.Errorf("got %d requests for discovery in ten seconds", n)
				}
				r.Script(askServices, nil)
				serve(r, "nope.io")
				elapse(catalogMinAge)
				if _, ok := lookup(t, c, things("nope.io")); !ok {
					t.Error("a new resource was not found")
				}
			})
		})
	}
}

func TestCatalogForgets(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		c := newCatalog(t, r)
		c.Forget(things("ex.io")) // before discovery was read
		serve(r, "ex.io")
		lookup(t, c, things("ex.io"))
		serve(r)
		elapse(time.Hour)
		if _, ok := lookup(t, c, things("ex.io")); !ok {
			t.Error("discovery was read again for a known resource")
		}
		c.Forget(things("ex.io"))
		if _, ok := lookup(t, c, things("ex.io")); ok {
			t.Error("a forgotten resource is still known")
		}
		if _, ok := lookup(t, c, configMaps.GVR); !ok {
			t.Error("other resources were forgotten, too")
		}
	})
}

// Another server may answer each caller differently. Without APIServices, few groups count as the upstream's own.
func TestCatalogOfAggregatedAPIs(t *testing.T) {
	services := `{"kind":"APIServiceList","items":[{"spec":{"group":"metrics.example.com","version":"v1","service":{"name":"x","namespace":"y"}}},` +
		`{"spec":{"group":"ex.io","version":"v1"}},{"spec":{"version":"v1","service":null}},{"spec":{"group":"apps","version":"v1"}}]}`
	for name, c := range map[string]struct {
		answer    http.HandlerFunc
		cacheable map[string]bool
	}{
		"readable":  {jsonText(services), map[string]bool{"metrics.example.com": false, "ex.io": true, "apps": true, "storage.k8s.io": false, aggregationGroup: true}},
		"forbidden": {testkit.Refuse(http.StatusForbidden, "Forbidden"), map[string]bool{"metrics.example.com": false, "ex.io": false, "apps": true, "storage.k8s.io": true, aggregationGroup: true}},
		"unknown":   {testkit.Refuse(http.StatusNotFound, "NotFound"), map[string]bool{"metrics.example.com": false, "ex.io": false, "apps": true, "storage.k8s.io": true, aggregationGroup: true}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				catalog := newCatalog(t, r)
				serve(r, "metrics.example.com", "ex.io", "apps", "storage.k8s.io", aggregationGroup)
				r.Script(askServices, c.answer)
				for group, want := range c.cacheable {
					if got, ok := lookup(t, catalog, things(group)); !ok || got.Cacheable != want {
						t.Errorf("%s: known %t, cacheable %t, want %t", group, ok, got.Cacheable, want)
					}
				}
			})
		})
	}
}

func TestCatalogOfABrokenGroup(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		c := newCatalog(t, r)
		serve(r, "broken.io", "ex.io")
		r.Script("/apis/broken.io/v1", testkit.Refuse(http.StatusServiceUnavailable, "ServiceUnavailable"))
		if _, ok := lookup(t, c, things("ex.io")); !ok {
			t.Error("a broken group hides another")
		}
		if _, ok := lookup(t, c, configMaps.GVR); !ok {
			t.Error("a broken group hides the core")
		}
		if _, ok := lookup(t, c, things("broken.io")); ok {
			t.Error("a resource of a broken group was found")
		}
	})
}

// builtinList is the beginning of lists of built-in resources.
const builtinList = `{"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`

// labelled answers with APIServices of these groups, by their label.
func labelled(groups map[string]string) http.HandlerFunc {
	var items []string
	for group, label := range groups {
		items = append(items, fmt.Sprintf(
			`{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":%q}},"spec":{"group":%q,"version":"v1"}}`, label, group))
	}
	return jsonText(`{"kind":"APIServiceList","items":[` + strings.Join(items, ",") + `]}`)
}

// With APIServices the catalog needs no request to know which resources are custom. Without them it sends one for each
// resource whose group does not say so.
func TestCatalogFindsCustomResources(t *testing.T) {
	groups := map[string]bool{"apps": false, "storage.k8s.io": false, "gateway.networking.k8s.io": true}
	for name, c := range map[string]struct {
		services http.HandlerFunc
		asked    []string
	}{
		"labelled": {labelled(map[string]string{"apps": "onstart", "storage.k8s.io": "onstart", "gateway.networking.k8s.io": "true"}), nil},
		"without labels": {
			labelled(map[string]string{"storage.k8s.io": "onstart", "gateway.networking.k8s.io": ""}), []string{"gateway.networking.k8s.io"},
		},
		"forbidden": {testkit.Refuse(http.StatusForbidden, "Forbidden"), []string{"storage.k8s.io", "gateway.networking.k8s.io"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				catalog := newCatalog(t, r)
				serve(r, "apps", "storage.k8s.io", "gateway.networking.k8s.io")
				r.Script(listOf("storage.k8s.io"), text(builtinList))
				r.Script(askServices, c.services)
				for range 3 {
					for group, want := range groups {
						if got, ok := lookup(t, catalog, things(group)); !ok || got.Custom != want {
							t.Errorf("%s: known %t, custom %t", group, ok, got.Custom)
						}
					}
					if err := catalog.Refresh(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				for group := range groups {
					want := 0
					if slices.Contains(c.asked, group) {
						want = 1
					}
					if n := r.Asked(listOf(group)); n != want {
						t.Errorf("got %[2]d lists of things of %[1]s, want %[3]d", group, n, want)
					}
				}
			})
		})
	}
}

// A failure to find out is an error, and is retried after a second.
func TestCatalogRetriesUnknownKind(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		c := newCatalog(t, r)
		serve(r, "ex.io")
		r.Script(listOf("ex.io"), testkit.Refuse(http.StatusForbidden, "Forbidden"))
		for range 10 {
			if _, ok, err := c.Lookup(t.Context(), things("ex.io")); ok || !HasCode(err, http.StatusForbidden) {
				t.Errorf("found %t, %v", ok, err)
			}
		}
		if n := r.Asked(listOf("ex.io")); n != 1 {
			t.Errorf("got %d concurrent requests, want one", n)
		}
		serve(r, "ex.io")
		elapse(styleErrorAge)
		if got, ok := lookup(t, c, things("ex.io")); !ok || !got.Custom {
			t.Errorf("afterwards: known %t, %+v", ok, got)
		}
	})
}

// An upstream that does not answer delays a caller no longer than a lane that is being started.
func TestCatalogLookupIsNotDelayed(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		c := newCatalog(t, r)
		serve(r, "ex.io")
		r.Script(listOf("ex.io"), func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		began := time.Now()
		if _, ok, err := c.Lookup(t.Context(), things("ex.io")); ok || !errors.Is(err, errUnsettled) || time.Since(began) != styleGrace {
			t.Errorf("after %s: found %t, %v", time.Since(began), ok, err)
		}
		elapse(styleWait)
	})
}

// A resource that was not what APIServices said is requested, whatever APIServices say later.
func TestCatalogForgetOverridesAPIServices(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		c := newCatalog(t, r)
		serve(r, "ex.io")
		r.Script(askServices, labelled(map[string]string{"ex.io": "onstart"}))
		if got, _ := lookup(t, c, things("ex.io")); got.Custom {
			t.Fatal("got another kind than the label says")
		}
		c.Forget(things("ex.io"))
		elapse(catalogMinAge)
		if got, ok := lookup(t, c, things("ex.io")); !ok || !got.Custom {
			t.Errorf("known %t, %+v", ok, got)
		}
	})
}
