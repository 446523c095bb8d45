package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
)

// watchers is how many watches a facade has open on a resource.
func (r *running) watchers(resource string) int {
	open := 0
	for _, lane := range r.facade.Lanes() {
		if lane.Resource == resource {
			open += lane.Watchers
		}
	}
	return open
}

// plainClient is an HTTP client of a facade without any of client-go's caches, for one protocol.
func (r *running) plainClient(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(r.Config.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: http2}
	if !http2 {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestSlowClient: a client that does not read is cut off, and delays nobody (I8).
func TestSlowClient(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, cluster)
			run := startFacade(t, cluster, func(c *facade.Config) { c.WriteTimeout = 2 * time.Second })
			path := collection(configMaps, s.namespace)
			quick := s.oracle(t, run).Facade.MustRecord(t, testkit.Question{Path: path + "?watch=1&resourceVersion=0"})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, run.URL+path+"?watch=1&resourceVersion=0", nil)
			if err != nil {
				t.Fatal(err)
			}
			slow, err := run.plainClient(t, http2).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer slow.Body.Close() // whose bytes nobody reads
			if open := run.watchers("configmaps"); open != 2 {
				t.Fatalf("%d watches are open, want 2", open)
			}
			cutOff := func() bool { return run.watchers("configmaps") == 1 }
			big := strings.Repeat("x", 500<<10)
			for i := 0; i < 100 && !cutOff(); i++ { // 50 MB are more than all buffers between the two hold
				rv := s.put(t, configMaps, "big", "", fmt.Sprint(i, big))
				quick.Until(t, within, "the quick client gets the event", func(r *testkit.Recording) bool { return r.Reached() >= rv })
			}
			testkit.Eventually(t, within, "the slow client is cut off", func() error {
				if !cutOff() {
					return fmt.Errorf("%d watches are open", run.watchers("configmaps"))
				}
				return nil
			})
			select {
			case <-quick.Done():
				t.Error("the quick client was cut off too")
			default:
			}
		})
	}
}

// TestIdleLanes: a resource that nobody reads costs nothing after a while; one that is watched stays.
func TestIdleLanes(t *testing.T) {
	t.Parallel()
	s := newStage(t, cluster)
	run := startFacade(t, cluster, func(c *facade.Config) { c.LaneIdle = time.Second })
	client := newClients(t, run.Config).dynamic
	if _, err := client.Resource(pods).Namespace(s.namespace).List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}); err != nil {
		t.Fatal(err)
	}
	watch := s.oracle(t, run).Facade.MustRecord(t, testkit.Question{Path: collection(configMaps, s.namespace) + "?watch=1&resourceVersion=0"})
	testkit.Eventually(t, within, "the lane of pods is stopped and that of config maps is not", func() error {
		var names []string
		for _, lane := range run.facade.Lanes() {
			names = append(names, lane.Resource)
		}
		if got := strings.Join(names, " "); got != "configmaps" {
			return fmt.Errorf("lanes: %s", got)
		}
		return nil
	})
	rv := s.put(t, configMaps, "a", "", "1")
	watch.Until(t, within, "the event", func(r *testkit.Recording) bool { return r.Reached() >= rv })
	if _, err := client.Resource(pods).Namespace(s.namespace).List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}); err != nil {
		t.Errorf("a stopped lane does not come back: %v", err)
	}
}
