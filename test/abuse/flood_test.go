package abuse

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// floods is the number of concurrent lists, and of concurrent watches.
const floods = 80

// fill creates config maps of 8 MB in total, more than socket buffers hold.
func (s *site) fill(t *testing.T) {
	t.Helper()
	for i := range 20 {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "large-" + strconv.Itoa(i)},
			"data": map[string]any{"text": strings.Repeat("some text ", 40<<10)},
		}}
		if _, err := s.In(suite.ConfigMaps).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// informer is a client-go informer of the namespace's config maps.
func (s *site) informer(t *testing.T, v *visitor) toolscache.SharedIndexInformer {
	t.Helper()
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(suite.NewClients(t, v.config).Dynamic, 0, s.Namespace, nil)
	return factory.ForResource(suite.ConfigMaps).Informer()
}

// Watches above the limit receive 429. Lists that are hardly read do not keep their seats. No other caller is refused,
// and the flooding caller is served again when it stops.
func TestListAndWatchFloodDoesNotAffectOthers(t *testing.T) {
	s := newSite(t, func(c *facade.Config) {
		// A list that is not read ends after 10 s.
		c.RequestTimeout, c.WriteTimeout = 16*time.Second, 10*time.Second
		c.Limits.RequestsPerUser, c.Limits.WatchesPerUser, c.Limits.WatchRatePerUser = 4, 20, 2
	})
	s.fill(t)
	flooder, other := s.reader(t, "flooder"), s.reader(t, "other")
	handlers, connections := requests(), served()
	var flood sync.WaitGroup
	var mu sync.Mutex
	codes := map[string]map[int]int{"list": {}, "watch": {}}
	note := func(what string, got reply) {
		if got.code == http.StatusTooManyRequests {
			refused(t, got)
		}
		mu.Lock()
		defer mu.Unlock()
		codes[what][got.code]++
	}
	for range floods {
		conn := flooder.dial(t, "http/1.1")
		flood.Go(func() { note("list", s.dawdle(t, conn)) })
	}
	for range floods {
		flood.Go(func() {
			note("watch", flooder.get(t, s.configMaps()+"?watch=1&timeoutSeconds=3&resourceVersion=0&fieldSelector=metadata.name%3Dwritten"))
		})
	}
	informer := s.informer(t, other)
	suite.StartInformer(t, informer)
	for i := range 10 {
		s.Put(t, suite.ConfigMaps, "written", "", strconv.Itoa(i))
	}
	s.Converges(t, suite.ConfigMaps, informer)
	flood.Wait()
	for what, of := range codes {
		if of[http.StatusOK] == 0 || of[http.StatusOK]+of[http.StatusTooManyRequests] != floods {
			t.Errorf("each %s is answered %v", what, of)
		}
	}
	if codes["watch"][http.StatusTooManyRequests] == 0 {
		t.Errorf("no watch is refused: %v", codes)
	}
	flooder.becomes(t, s.configMaps()+"?limit=1", http.StatusOK)
	flooder.becomes(t, s.configMaps()+"?watch=1&timeoutSeconds=1&resourceVersion=0", http.StatusOK)
	flooder.client.CloseIdleConnections()
	calm(t, handlers+1, connections+1) // the informer's watch
}

// dawdle sends a list request and reads only the header of the response, or a refusal completely.
func (s *site) dawdle(t *testing.T, conn net.Conn) reply {
	_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: facade\r\n\r\n", s.configMaps())
	if err != nil {
		t.Error(err)
		return reply{}
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	if response.StatusCode == http.StatusOK {
		return reply{code: http.StatusOK}
	}
	got := read(t, response)
	_ = conn.Close()
	return got
}
