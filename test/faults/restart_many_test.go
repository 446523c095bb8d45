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
	returnClients   = 10 // clients, each with its own user and connection
	returnInformers = 50 // informers per client
)

// answered counts the answers by code, and collects wrong ones.
type answered struct {
	mu    sync.Mutex // guards the fields below
	codes map[int]int
	wrong []error
}

// note counts an answer. After a restart it must be 200, or a 429 or 503 with Retry-After.
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

// roundTrips is a function that implements http.RoundTripper.
type roundTrips func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// around returns a transport that counts the answers of another.
func (a *answered) around(next http.RoundTripper) http.RoundTripper {
	return roundTrips(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil {
			a.note(response)
		}
		return response, err
	})
}

// The test aborts a facade with hundreds of informers of users with few rights, and starts it again in front of a slow
// upstream. No informer receives an empty list, the upstream receives few requests, and all informers converge.
func TestInformersLoseNothingInRestart(t *testing.T) {
	settings.Long(t)
	t.Parallel() // most of it is waiting
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
	testkit.Eventually(t, "the restarted facade sends requests before the upstream answers", func() error {
		if lanesOf(tally) <= before {
			return errors.New("the upstream received no request")
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
	if n := lanesOf(tally) - before; n > 10 { // Table rows, pages, bookmarks, a watch; repeated if they fail
		t.Errorf("%d informers cost the upstream %d lists and watches:\n%s", len(informers), n, tally)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	t.Logf("%d informers were answered %v, %d before the restart; the upstream:\n%s", len(informers), got.codes, answers, tally)
	for _, err := range got.wrong {
		t.Error(err)
	}
}

// lanesOf returns the number of requests for all config maps that the upstream received.
func lanesOf(tally *suite.Tally) (n int) {
	for _, way := range []suite.Way{suite.List, suite.Watch} {
		for _, protobuf := range []bool{false, true} {
			n += tally.Asked(suite.Asked{Way: way, Resource: suite.ConfigMaps.Resource, Protobuf: protobuf})
		}
	}
	return n
}

// returning starts the informers, and returns when all have synced. No informer may see a deletion, which an empty list
// would cause.
func returning(t *testing.T, s *suite.Fixture, run *suite.Facade, got *answered) []toolscache.SharedIndexInformer {
	t.Helper()
	var all []toolscache.SharedIndexInformer
	gone := toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(o any) { t.Errorf("an informer received a deletion of %v", o) }}
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
				return errors.New("an informer is not synced")
			}
			return nil
		})
	}
	return all
}

// letRead grants the group with the namespace's name the right to read its config maps, and nothing else.
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
	testkit.Eventually(t, "kube-apiserver knows the right", func() error {
		answer, err := reader.Ask(t.Context(), testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace)})
		if err == nil && answer.Code != http.StatusOK {
			err = fmt.Errorf("%d: %s", answer.Code, answer.Body)
		}
		return err
	})
}
