package page

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// wire is a connection to the upstream that can be cut.
type wire struct {
	next http.Handler
	down atomic.Pointer[chan struct{}] // closed while cut
}

func newWire(next http.Handler) *wire {
	w := &wire{next: next}
	whole := make(chan struct{})
	w.down.Store(&whole)
	return w
}

// ServeHTTP forwards requests, or terminates them while the wire is cut.
func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	down := *w.down.Load()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-down:
			cancel()
		case <-ctx.Done():
		}
	}()
	select {
	case <-down:
		panic(http.ErrAbortHandler)
	default:
	}
	w.next.ServeHTTP(rw, r.WithContext(ctx))
}

func (w *wire) cut() { close(*w.down.Load()) }

func (w *wire) restore() {
	whole := make(chan struct{})
	w.down.Store(&whole)
}

// scene is a facade with clients.
type scene struct {
	*suite.Fixture
	facade *suite.Facade
	wire   *wire
}

// newScene starts a facade with two preloaded resources and some objects.
func newScene(t *testing.T, settings ...func(*facade.Config)) *scene {
	t.Helper()
	cluster := suite.Cluster(t)
	s := &scene{Fixture: suite.NewFixture(t, cluster), wire: newWire(suite.Forward(t, suite.FacadeConfig(t, cluster)))}
	s.facade = suite.LaunchFacade(t, suite.Serve(t, s.wire), append([]func(*facade.Config){func(c *facade.Config) {
		c.Preload = []string{"configmaps", "namespaces"}
		c.Slow.Request = 200 * time.Millisecond
		c.Limits.Requests = 400
	}}, settings...)...)
	s.facade.AwaitReady(t)
	for i := range 20 {
		s.Put(t, suite.ConfigMaps, fmt.Sprint("object-", i), "app=web", "x")
	}
	return s
}

// client returns a client with its own user agent.
func (s *scene) client(t *testing.T, agent string) dynamic.Interface {
	t.Helper()
	config := *s.facade.Config
	config.UserAgent = agent
	client, err := dynamic.NewForConfig(&config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// busy runs clients that list and watch.
func (s *scene) busy(t *testing.T) {
	t.Helper()
	for agent, times := range map[string]int{"kube-scheduler/v1.37.1 (linux/amd64)": 4, "my-controller/v0.3.1": 40, "kubectl/v1.37.1 (linux/amd64) kubernetes/0b1a2c3": 3} {
		client := s.client(t, agent)
		for range times {
			if _, err := client.Resource(suite.ConfigMaps).List(t.Context(), metav1.ListOptions{ResourceVersion: "0", LabelSelector: "app=web"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := client.Resource(suite.ConfigMaps).Namespace(s.Namespace).List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		watch, err := client.Resource(suite.ConfigMaps).Namespace(s.Namespace).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(watch.Stop)
	}
	testkit.Eventually(t, "the watches are open", func() error {
		if open := s.facade.Watchers("configmaps"); open < 3 {
			return fmt.Errorf("%d are open", open)
		}
		return nil
	})
}

// page returns the URL of the page.
func (s *scene) page() string { return s.facade.URL + "/debug/status" }
