package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// past is a list at a version that may be compacted now, with kube-apiserver's answer from before.
type past struct {
	paged
	answer *testkit.Answer
}

// pasts returns pages and lists of config maps, and of events, which kube-apiserver reads from etcd. The pages have
// tokens of the facade and of kube-apiserver. No representation contains an age.
func (s *survivors) pasts(t *testing.T) []past {
	t.Helper()
	s.fills(t, suite.ConfigMaps, suite.Events) // else a version may be from before the lanes were filled
	for i := range 5 {
		s.writes = append(s.writes, s.Put(t, suite.ConfigMaps, fmt.Sprintf("page%d", i), "t=a", "1"))
		s.event(t)
	}
	now := s.Put(t, suite.ConfigMaps, "mark", "", "now")
	s.writes = append(s.writes, now)
	var all []past
	for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Events} {
		path := suite.Collection(gvr, s.Namespace)
		suite.Reach(t, s.oracle, path, now)
		for _, asker := range []*testkit.Asker{s.oracle.Facade, s.oracle.Upstream} {
			for _, representation := range []string{suite.AcceptJSON, acceptPartialList} {
				p := paged{path: path + "?limit=2&labelSelector=t%3Da", form: representation}
				p.token = tokenIn(asker.MustAsk(t, p.question()))
				all = append(all, past{paged: p})
			}
		}
		for _, query := range []string{"limit=2", "resourceVersionMatch=Exact", "resourceVersionMatch=Exact&fieldSelector=metadata.name%3Do1"} {
			all = append(all, past{paged: paged{path: fmt.Sprintf("%s?resourceVersion=%d&%s", path, now, query), form: suite.AcceptJSON}})
		}
	}
	for i, p := range all {
		if all[i].answer = s.oracle.Compare(t, p.question()); all[i].answer.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", p.question(), all[i].answer.Code, all[i].answer.Body)
		}
	}
	// Tokens may contain a version of another client's write that the facade has not received.
	later := s.Put(t, suite.ConfigMaps, "mark", "", "later")
	s.writes = append(s.writes, later)
	suite.Reach(t, s.oracle, suite.Collection(suite.ConfigMaps, s.Namespace), later)
	return all
}

// fills waits until the facade has the resources.
func (s *survivors) fills(t *testing.T, all ...schema.GroupVersionResource) {
	t.Helper()
	for _, gvr := range all {
		testkit.Eventually(t, gvr.Resource+" are cached", func() error {
			s.oracle.Facade.MustAsk(t, testkit.Question{Path: suite.Collection(gvr, s.Namespace) + "?resourceVersion=0"})
			for _, lane := range s.run.Lanes() {
				if lane.Resource == gvr.Resource && lane.Synced {
					return nil
				}
			}
			return errors.New("they are not cached")
		})
	}
}

// event creates an event.
func (s *survivors) event(t *testing.T) {
	t.Helper()
	s.Create(t, suite.Events, map[string]any{
		"apiVersion": "v1", "kind": "Event", "reason": "Test", "type": "Normal",
		"metadata":       map[string]any{"generateName": "page", "labels": map[string]any{"t": "a"}},
		"involvedObject": map[string]any{"kind": "ConfigMap", "name": "o1", "namespace": s.Namespace},
	})
}

// goOn writes until every cache is past the earlier versions.
func (s *survivors) goOn(t *testing.T) {
	t.Helper()
	s.change(t)
	s.event(t)
	testkit.Eventually(t, "the facade has the last event", func() error {
		answer := s.oracle.Facade.MustAsk(t, testkit.Question{Path: suite.Collection(suite.Events, s.Namespace) + "?resourceVersion=0"})
		if want, got := len(s.Present(t, suite.Events, metav1.ListOptions{})), len(versions(answer))-1; got != want {
			return fmt.Errorf("got %d events, want %d", got, want)
		}
		return nil
	})
}

// honest checks that the facade answers as kube-apiserver does now or, if the version is still in the facade's window,
// as kube-apiserver did before. It returns kube-apiserver's answer.
func (p past) honest(t *testing.T, o *testkit.Oracle) *testkit.Answer {
	t.Helper()
	answer, diff := o.Difference(t, p.question())
	if diff == "" {
		return answer
	}
	if before := testkit.Diff(p.question(), p.answer, o.Facade.MustAsk(t, p.question())); before != "" {
		t.Errorf("%s: the answer is neither the current one:\n%snor the earlier one:\n%s", p.question(), diff, before)
	}
	return answer
}

// gone checks that a refusal is kube-apiserver's, and that its continue token leads through the rest of the list.
func (p past) gone(t *testing.T, o *testkit.Oracle) {
	t.Helper()
	answer := o.Compare(t, p.question())
	if answer.Code != http.StatusGone || (p.token != "") != (tokenIn(answer) != "") {
		t.Fatalf("%s: got %d from kube-apiserver for a compacted version: %s", p.question(), answer.Code, answer.Body)
	}
	for rest := p.paged; tokenIn(answer) != ""; {
		rest.token = tokenIn(answer)
		if answer = o.Compare(t, rest.question()); answer.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", rest.question(), answer.Code, answer.Body)
		}
	}
}

// testPagesCompacted removes versions that clients are reading: first from etcd, from which kube-apiserver reads events
// and lists of one name, then from kube-apiserver itself.
func testPagesCompacted(t *testing.T, s *survivors) {
	all := s.pasts(t)
	s.goOn(t)
	if err := s.cluster.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	ignorant := s.Oracle(t, suite.StartFacade(t, s.cluster)) // its window begins here
	forgotten := 0
	for _, p := range all {
		if p.honest(t, s.oracle).Code == http.StatusOK {
			ignorant.Compare(t, p.question())
			continue
		}
		forgotten++
		p.gone(t, ignorant)
	}
	if forgotten < len(all)/2 {
		t.Errorf("kube-apiserver has lost %d of %d versions, want at least those of events", forgotten, len(all))
	}
	s.do(t, "kill")
	s.do(t, "start")
	s.goOn(t)
	ignorant = s.Oracle(t, suite.StartFacade(t, s.cluster))
	for _, p := range all {
		p.honest(t, s.oracle)
		p.gone(t, ignorant)
	}
	s.survived(t)
}

// testPagesRestarted restarts kube-apiserver between two pages. etcd still has the versions.
func testPagesRestarted(t *testing.T, s *survivors) {
	all := s.pasts(t)
	s.goOn(t)
	s.do(t, "kill")
	s.do(t, "start")
	s.goOn(t)
	for _, p := range all {
		p.honest(t, s.oracle)
		// kube-apiserver writes the token of a page that it reads from etcd without a slash (semantics 2.5);
		// the objects are the same.
		if answer := s.oracle.Facade.MustAsk(t, p.question()); !bytes.Equal(itemsIn(answer), itemsIn(p.answer)) {
			t.Errorf("%s: %d %s\nbefore the restart: %s", p.question(), answer.Code, answer.Body, p.answer.Body)
		}
	}
	s.survived(t)
}

// itemsIn returns the raw objects of a list.
func itemsIn(answer *testkit.Answer) []byte {
	var list struct{ Items json.RawMessage }
	_ = json.Unmarshal(answer.Body, &list) // other answers have no items
	return list.Items
}

// ofConfigMaps reports whether the facade may serve the list from its cache.
func (p past) ofConfigMaps() bool {
	return strings.Contains(p.path, "/configmaps?") && !strings.Contains(p.path, "metadata.name")
}
