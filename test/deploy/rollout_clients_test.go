package deploy

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// rolloutClients are clients of a Service while its pods are replaced. They count lists and failures, which a rollout
// must not cause.
type rolloutClients struct {
	url string // of the list that is read

	mu          sync.Mutex // guards what follows
	lists       int        // of informers
	connections int        // that were made to read once
	failures    []error    // of reads, and of watches to begin
}

// sum returns the number of lists, and the failures.
func (c *rolloutClients) sum() (lists int, failures []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists, c.failures
}

// watch starts the informers, and returns when all are synced.
func (c *rolloutClients) watch(t *testing.T, s *suite.Fixture, config *rest.Config, watches int) (all []toolscache.SharedIndexInformer) {
	t.Helper()
	for range rolloutConnections {
		own := rest.CopyConfig(config)
		own.Dial = new(net.Dialer).DialContext // with it no connection is shared
		own.Wrap(func(next http.RoundTripper) http.RoundTripper { return &countingTransport{next: next, clients: c} })
		client := suite.NewClients(t, own).Dynamic
		for range watches / rolloutConnections {
			informer := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, s.Namespace, nil).ForResource(suite.ConfigMaps).Informer()
			suite.RunInformer(t, informer)
			all = append(all, informer)
		}
	}
	converge(t, s, all)
	return all
}

// countingTransport counts requests of informers that list, and those that fail.
type countingTransport struct {
	next    http.RoundTripper
	clients *rolloutClients
}

// RoundTrip implements http.RoundTripper.
func (c *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	failed := err
	if err == nil && response.StatusCode != http.StatusOK {
		failed = fmt.Errorf("%s: %s", r.URL, response.Status)
	}
	if r.Context().Err() != nil {
		failed = nil // the test has ended
	}
	c.clients.mu.Lock()
	defer c.clients.mu.Unlock()
	if query := r.URL.Query(); query.Get("watch") == "" || query.Get("sendInitialEvents") == "true" {
		c.clients.lists++
	}
	if failed != nil {
		c.clients.failures = append(c.clients.failures, failed)
	}
	return response, err
}

// read sends consistent reads until stop is called, over new and over reused connections.
func (c *rolloutClients) read(t *testing.T, token string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	for _, transport := range []*http.Transport{
		{TLSClientConfig: unverified(), DisableKeepAlives: true},
		{TLSClientConfig: unverified(), TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}},
		{TLSClientConfig: unverified(), ForceAttemptHTTP2: true},
	} {
		client := &http.Client{Transport: transport}
		readers.Go(func() {
			defer transport.CloseIdleConnections()
			tick := time.NewTicker(20 * time.Millisecond) //pace: clients do not read without a pause
			defer tick.Stop()
			for ctx.Err() == nil {
				err := readOnce(client, c.url, token)
				c.mu.Lock()
				if transport.DisableKeepAlives {
					c.connections++
				}
				if err != nil {
					c.failures = append(c.failures, err)
				}
				c.mu.Unlock()
				<-tick.C
			}
		})
	}
	stop = func() {
		cancel()
		readers.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// awaitConnections waits until reads have opened that many further connections.
func (c *rolloutClients) awaitConnections(t *testing.T, further int) {
	t.Helper()
	before := -1
	testkit.Eventually(t, fmt.Sprintf("%d further connections are made", further), func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if before < 0 {
			before = c.connections
		}
		if made := c.connections - before; made < further {
			return fmt.Errorf("got %d", made)
		}
		return nil
	})
}

// readOnce reads a list to its end.
func readOnce(client *http.Client, url, token string) error {
	request, err := http.NewRequest(http.MethodGet, url, nil) //nolint:noctx // a read that has begun is read to its end
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.300s", response.Status, body)
	}
	return err
}
