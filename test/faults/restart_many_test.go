package faults

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	returnClients   = 10 // each with a connection, and as somebody else
	returnInformers = 50 // of each client
)

// answered is what clients were answered with, by code, and what they should not have been.
type answered struct {
	mu    sync.Mutex // guards what follows
	codes map[int]int
	wrong []error
}

// note counts an answer. Who lost his facade is to come back later, or is answered.
func (a *answered) note(r *http.Response) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.codes[r.StatusCode]++
	switch r.StatusCode {
	case http.StatusOK:
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if after, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil || after < 1 {
			a.wrong = append(a.wrong, fmt.Errorf("%d with Retry-After %q", r.StatusCode, r.Header.Get("Retry-After")))
		}
	default:
		a.wrong = append(a.wrong, fmt.Errorf("%s: %d", r.Request.URL, r.StatusCode))
	}
}

func (a *answered) sum() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range a.codes {
		n += of
	}
	return n
}

// roundTrips lets a function be a transport.
type roundTrips func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// around notes what a transport is answered with.
func (a *answered) around(next http.RoundTripper) http.RoundTripper {
	return roundTrips(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil {
			a.note(response)
		}
		return response, err
	})
}

// Test39Restart breaks off a facade under hundreds of informers of users with few rights, and starts it again before an
// upstream that keeps it waiting. Nobody is told that there is nothing, the upstream is asked once for all of them, and
// all end with what is there.
func Test39Restart(t *testing.T) {
	settings.Long(t)
	t.Parallel() // with what waits as well
	s := suite.NewFixture(t, suite.Cluster(t))
	letRead(t, s)
	for i := range 20 {
		s.Put(t, suite.ConfigMaps, fmt.Sprintf("o%d", i), "", "1")
	}
	tally := suite.NewTally(t, suite.Cluster(t))
	_, port, err := net.SplitHostPort(suite.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	certs := t.TempDir()
	newFacade := func() *suite.Facade {
		return suite.LaunchDelegating(t, tally.Kubeconfig, func(c *facade.Config) { c.Port, c.CertDir = number, certs })
	}
	run := newFacade()
	run.AwaitReady(t)
	got := &answered{codes: map[int]int{}}
	informers := returning(t, s, run, got)

	if err := run.Abort(); err != nil {
		t.Fatal(err)
	}
	run.Close(t)
	for i := range 10 {
		s.Put(t, suite.ConfigMaps, fmt.Sprintf("o%d", i), "", "2")
	}
	before, answers := lanesOf(tally), got.sum()
	release := sync.OnceFunc(tally.Hold(suite.ConfigMaps.Resource))
	t.Cleanup(release)
	newFacade()
	testkit.Eventually(t, "clients are back before the facade has anything", func() error {
		if lanesOf(tally) <= before {
			return errors.New("the upstream is not asked")
		}
		return nil
	})
	release()
	want := s.Present(t, suite.ConfigMaps, metav1.ListOptions{})
	for i, informer := range informers {
		testkit.Eventually(t, fmt.Sprintf("informer %d holds what the upstream has", i), func() error {
			if diff := cmp.Diff(want, suite.Held(t, informer)); diff != "" {
				return fmt.Errorf("(-upstream +informer)\n%s", diff)
			}
			return nil
		})
	}
	if n := lanesOf(tally) - before; n > 10 { // rows, pages, bookmarks, a watch; again if they were broken off
		t.Errorf("%d informers cost the upstream %d lists and watches:\n%s", len(informers), n, tally)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	t.Logf("%d informers were answered %v, %d before the restart; the upstream:\n%s", len(informers), got.codes, answers, tally)
	for _, err := range got.wrong {
		t.Error(err)
	}
}

// lanesOf is how often the upstream was asked for all config maps.
func lanesOf(tally *suite.Tally) (n int) {
	for _, way := range []suite.Way{suite.List, suite.Watch} {
		for _, protobuf := range []bool{false, true} {
			n += tally.Asked(suite.Asked{Way: way, Resource: suite.ConfigMaps.Resource, Protobuf: protobuf})
		}
	}
	return n
}

// returning starts the informers, and returns when all have synced. None may ever be told that an object is gone, which
// is what an empty list would tell it.
func returning(t *testing.T, s *suite.Fixture, run *suite.Facade, got *answered) []toolscache.SharedIndexInformer {
	t.Helper()
	var all []toolscache.SharedIndexInformer
	gone := toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(o any) { t.Errorf("an informer was told that this is gone: %v", o) }}
	for i := range returnClients {
		config := run.ConfigOf(suite.Cluster(t).ConfigOf(t, fmt.Sprintf("%s-%d", s.Namespace, i), s.Namespace))
		config.QPS = -1
		config.Wrap(got.around)
		client, err := dynamic.NewForConfig(rest.CopyConfig(config))
		if err != nil {
			t.Fatal(err)
		}
		for range returnInformers {
			informer := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, s.Namespace, nil).ForResource(suite.ConfigMaps).Informer()
			if _, err := informer.AddEventHandler(gone); err != nil {
				t.Fatal(err)
			}
			all = append(all, informer)
			suite.RunInformer(t, informer)
		}
	}
	for _, informer := range all {
		testkit.Eventually(t, "all informers are synced", func() error {
			if !informer.HasSynced() {
				return errors.New("one is not")
			}
			return nil
		})
	}
	return all
}

// letRead lets the members of a group that is called as the namespace read its config maps, and nothing else.
func letRead(t *testing.T, s *suite.Fixture) {
	t.Helper()
	const group = "rbac.authorization.k8s.io"
	s.Create(t, schema.GroupVersionResource{Group: group, Version: "v1", Resource: "roles"}, map[string]any{
		"apiVersion": group + "/v1", "kind": "Role", "metadata": map[string]any{"name": "reader"},
		"rules": []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"get", "list", "watch"}}},
	})
	s.Create(t, schema.GroupVersionResource{Group: group, Version: "v1", Resource: "rolebindings"}, map[string]any{
		"apiVersion": group + "/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": "reader"},
		"roleRef":  map[string]any{"apiGroup": group, "kind": "Role", "name": "reader"},
		"subjects": []any{map[string]any{"apiGroup": group, "kind": "Group", "name": s.Namespace}},
	})
	reader, err := testkit.NewAsker(suite.Cluster(t).ConfigOf(t, s.Namespace, s.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the right is known", func() error {
		answer, err := reader.Ask(t.Context(), testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace)})
		if err == nil && answer.Code != http.StatusOK {
			err = fmt.Errorf("%d: %s", answer.Code, answer.Body)
		}
		return err
	})
}
