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

// localServices answers with APIServices of groups that the upstream serves itself, which do not say in what way.
func localServices(groups ...string) http.HandlerFunc {
	var items []string
	for _, group := range groups {
		items = append(items, fmt.Sprintf(`{"spec":{"group":%q,"version":"v1"}}`, group))
	}
	return jsonText(`{"kind":"APIServiceList","metadata":{"resourceVersion":"1"},"items":[` + strings.Join(items, ",") + `]}`)
}

// serve adds groups to the fake's discovery, each with a custom resource that can be listed. Its APIServices do not say
// of which kind they are.
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

// listOf is the question what things of a group look like.
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
			t.Error("the catalog knows before it asked")
		}
		serve(r, "ex.io")
		got, ok := lookup(t, c, things("ex.io"))
		want := Resource{
			GVR: things("ex.io"), GVK: schema.GroupVersionKind{Group: "ex.io", Version: "v1", Kind: "Thing"}, Namespaced: true, Custom: true, Cacheable: true,
		}
		if !ok || got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if reviews, ok := lookup(t, c, things("ex.io").GroupVersion().WithResource("reviews")); !ok || reviews.Cacheable || reviews.Namespaced {
			t.Errorf("what can only be created: %+v", reviews)
		}
		if _, ok := lookup(t, c, things("ex.io").GroupVersion().WithResource("things/status")); ok {
			t.Error("a subresource is a resource")
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

// A storm of requests for what does not exist costs one discovery a second, also when discovery fails.
func TestCatalogAsksOnceASecond(t *testing.T) {
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
					t.Errorf("asked %d times in ten seconds", n)
				}
				r.Script(askServices, nil)
				serve(r, "nope.io")
				elapse(catalogMinAge)
				if _, ok := lookup(t, c, things("nope.io")); !ok {
					t.Error("a resource that appeared is not found")
				}
			})
		})
	}
}

func TestCatalogForgets(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		c := newCatalog(t, r)
		c.Forget(things("ex.io")) // before anything is known
		serve(r, "ex.io")
		lookup(t, c, things("ex.io"))
		serve(r)
		elapse(time.Hour)
		if _, ok := lookup(t, c, things("ex.io")); !ok {
			t.Error("what is known is asked for again")
		}
		c.Forget(things("ex.io"))
		if _, ok := lookup(t, c, things("ex.io")); ok {
			t.Error("what is gone is still known")
		}
		if _, ok := lookup(t, c, configMaps.GVR); !ok {
			t.Error("everything was forgotten")
		}
	})
}

// What another server answers may differ for each caller; who cannot tell which those are, believes in few.
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
			t.Error("a broken group is there")
		}
	})
}

// builtinList is how lists of built-in things begin.
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

// Who reads APIServices knows of every resource whether it is custom. Who may not, asks for those whose group does not
// tell.
func TestCatalogTellsCustomResources(t *testing.T) {
	groups := map[string]bool{"apps": false, "storage.k8s.io": false, "gateway.networking.k8s.io": true}
	for name, c := range map[string]struct {
		services http.HandlerFunc
		asked    []string
	}{
		"labelled": {labelled(map[string]string{"apps": "onstart", "storage.k8s.io": "onstart", "gateway.networking.k8s.io": "true"}), nil},
		"made by somebody": {
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
						t.Errorf("things of %s were asked for %d times, want %d", group, n, want)
					}
				}
			})
		})
	}
}

// What cannot be found out is an error, and asked for again a second later.
func TestCatalogCannotTell(t *testing.T) {
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
			t.Errorf("asked %d times at once", n)
		}
		serve(r, "ex.io")
		elapse(styleErrorAge)
		if got, ok := lookup(t, c, things("ex.io")); !ok || !got.Custom {
			t.Errorf("afterwards: known %t, %+v", ok, got)
		}
	})
}

// An upstream that does not answer holds up nobody for longer than a lane that is being started would.
func TestCatalogDoesNotWaitToTell(t *testing.T) {
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

// A resource that turned out to be another than was said is asked for, whatever is still said.
func TestCatalogIsToldBetter(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		c := newCatalog(t, r)
		serve(r, "ex.io")
		r.Script(askServices, labelled(map[string]string{"ex.io": "onstart"}))
		if got, _ := lookup(t, c, things("ex.io")); got.Custom {
			t.Fatal("the label is not believed")
		}
		c.Forget(things("ex.io"))
		elapse(catalogMinAge)
		if got, ok := lookup(t, c, things("ex.io")); !ok || !got.Custom {
			t.Errorf("known %t, %+v", ok, got)
		}
	})
}
