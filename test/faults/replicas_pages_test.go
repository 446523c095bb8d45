package faults

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const acceptPartialList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

// Each of the three servers accepts the continue tokens of all others, and answers byte by byte like kube-apiserver.
// This includes a facade that has started after the token was issued and lacks its version.
func TestReplicasPages(t *testing.T) {
	settings.Long(t)
	r := startReplicas(t, suite.ConfigMaps)
	const objects, limit = 12, 4
	last := uint64(0)
	for i := range objects {
		for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Gadgets} {
			last = r.Put(t, gvr, fmt.Sprintf("o%02d", i), "t=a", "1")
		}
	}
	for i := range r.runs {
		for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Gadgets} {
			suite.Reach(t, r.oracle(t, i), suite.Collection(gvr, r.Namespace), last)
		}
	}
	stop := keepWriting(t, r.Fixture, suite.ConfigMaps, 10*time.Millisecond)
	all := r.firstPages(t, limit)
	pages := 1
	for len(all) > 0 {
		all = r.nextPages(t, all)
		if pages++; pages == 2 {
			r.restart(t, 0)
		}
	}
	if pages < objects/limit {
		t.Errorf("%d pages of %d objects with a limit of %d", pages, objects, limit)
	}
	stop()
	for i := range r.runs {
		r.oracle(t, i).Compare(t, testkit.Question{Path: suite.Collection(suite.ConfigMaps, r.Namespace)})
	}
}

// paged is a list of which some pages have been read.
type paged struct {
	path  string // with everything but the token
	form  string
	token string
}

// firstPages requests the first page of lists in several representations from each server.
func (r *replicas) firstPages(t *testing.T, limit int) []paged {
	t.Helper()
	const selected = "&labelSelector=t%3Da&fieldSelector=metadata.name!%3Do05"
	var all []paged
	for _, list := range []struct {
		gvr             schema.GroupVersionResource
		form, selectors string
	}{
		{gvr: suite.ConfigMaps, form: suite.AcceptJSON},
		{gvr: suite.ConfigMaps, form: suite.AcceptJSON, selectors: selected},
		{gvr: suite.ConfigMaps, form: suite.AcceptTable},
		{gvr: suite.ConfigMaps, form: acceptPartialList},
		{gvr: suite.Gadgets, form: suite.AcceptJSON},
		{gvr: suite.Gadgets, form: suite.AcceptTable, selectors: selected},
	} {
		for _, asker := range []*testkit.Asker{r.Upstream, r.oracle(t, 0).Facade, r.oracle(t, 1).Facade} {
			p := paged{path: fmt.Sprintf("%s?limit=%d%s", suite.Collection(list.gvr, r.Namespace), limit, list.selectors), form: list.form}
			answer := asker.MustAsk(t, p.question())
			if p.token = tokenIn(answer); p.token == "" {
				t.Fatalf("%s: no token: %d %s", p.path, answer.Code, answer.Body)
			}
			all = append(all, p)
		}
	}
	return all
}

// nextPages compares the next page of each list, with tokens of each server in turn. It returns the lists that have
// further pages.
func (r *replicas) nextPages(t *testing.T, all []paged) []paged {
	t.Helper()
	var rest []paged
	for i, p := range all {
		q := p.question()
		answer := r.oracle(t, 0).Compare(t, q)
		r.oracle(t, 1).Compare(t, q)
		if i%3 > 0 {
			answer = r.oracle(t, i%3-1).Facade.MustAsk(t, q)
		}
		if p.token = tokenIn(answer); p.token != "" {
			rest = append(rest, p)
		}
	}
	return rest
}

func (p paged) question() testkit.Question {
	q := testkit.Question{Path: p.path, Header: suite.Accepting(p.form)}
	if p.token != "" {
		q.Path += "&continue=" + url.QueryEscape(p.token)
	}
	return q
}

// tokenIn returns the continue token in a list or Status.
func tokenIn(answer *testkit.Answer) string {
	var list struct{ Metadata struct{ Continue string } }
	_ = json.Unmarshal(answer.Body, &list) // other answers have no token
	return list.Metadata.Continue
}

// A client that reads pages through the balancer while objects change receives the state at the first page's version.
func TestReplicasPager(t *testing.T) {
	settings.Long(t)
	for name, gvr := range map[string]schema.GroupVersionResource{"busy": suite.ConfigMaps, "quiet": suite.Gadgets} {
		t.Run(name, func(t *testing.T) { testReplicasPager(t, startReplicas(t, gvr)) })
	}
}

func testReplicasPager(t *testing.T, r *replicas) {
	for i := range randomObjects {
		r.Put(t, r.gvr, fmt.Sprintf("o%d", i), "t=a", "1")
	}
	client := suite.NewClients(t, r.front.Config).Dynamic.Resource(r.gvr).Namespace(r.Namespace)
	keepWriting(t, r.Fixture, suite.ConfigMaps, 10*time.Millisecond)
	keepWriting(t, r.Fixture, suite.Gadgets, 100*time.Millisecond)
	for range 8 {
		got := map[string]string{}
		version := ""
		for o := (metav1.ListOptions{Limit: 3}); version == "" || o.Continue != ""; {
			list, err := client.List(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if version != "" && version != list.GetResourceVersion() {
				t.Fatalf("pages at %s and %s", version, list.GetResourceVersion())
			}
			for _, item := range list.Items {
				got[item.GetNamespace()+"/"+item.GetName()] = item.GetResourceVersion()
			}
			version, o.Continue = list.GetResourceVersion(), list.GetContinue()
		}
		want := r.Present(t, r.gvr, metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		if !maps.Equal(got, want) {
			t.Errorf("at %s: paged %v, there was %v", version, got, want)
		}
	}
}
