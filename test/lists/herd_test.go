package lists

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// herdClients is the number of clients: in a short run two of each kind.
func herdClients() int { return settings.Amount(16, 100) }

const (
	herdObjects = 1000                        // more than the upstream answers for little
	herdEnd     = "k8s.io/initial-events-end" // in a streaming list
	fillTakes   = 2 * time.Second             // longer than a request waits before it is forwarded
)

// herd is many clients that send the same list at the same time.
type herd struct {
	*suite.Fixture
	media    string
	upstream *suite.Tally
	run      *suite.Facade
}

// Many clients list at the same time: before, while and after the lane is filled, as LIST and streaming list, with and
// without compression. All receive the upstream's objects, and kube-apiserver receives one list.
func TestHerdInJSON(t *testing.T) { testHerd(t, suite.AcceptJSON) }

func TestHerdInProtobuf(t *testing.T) { testHerd(t, "application/vnd.kubernetes.protobuf") }

// herdTries is the number of tries. On a busy machine a freshness check may take too long, and then the waiting
// requests are forwarded.
const herdTries = 3

func testHerd(t *testing.T, media string) {
	h := &herd{Fixture: suite.NewFixture(t, suite.Cluster(t)), media: media}
	h.fill(t)
	for try := 1; ; try++ {
		wrong := h.comes(t)
		if wrong == "" {
			return
		}
		if try == herdTries {
			t.Fatal(wrong)
		}
		t.Log(wrong)
	}
}

// comes runs the herd against an empty facade, and again when its lane is filled. It returns the requests to the
// upstream that exceed the limit.
func (h *herd) comes(t *testing.T) (wrong string) {
	t.Helper()
	h.upstream = suite.NewTally(t, suite.Cluster(t))
	h.run = suite.LaunchFacade(t, h.upstream.Kubeconfig, suite.Unpacked)
	h.run.AwaitReady(t)
	asked := suite.Asked{Way: suite.List, Resource: "configmaps", Protobuf: h.media != suite.AcceptJSON}
	watched := asked
	watched.Way = suite.Watch
	pages := 2 // a small one, and one that holds all the others
	if !asked.Protobuf {
		pages++ // of the rows beside them
	}
	for _, filling := range []bool{true, false} {
		if filling {
			time.AfterFunc(fillTakes, h.upstream.Hold("configmaps")) //pace: the upstream is slow to list
		}
		var clients sync.WaitGroup
		for i := range herdClients() {
			clients.Go(func() { h.list(t, i) })
		}
		clients.Wait()
	}
	lists, watches := h.upstream.Asked(asked), h.upstream.Asked(watched)
	if lists == pages && watches == 1 {
		return ""
	}
	return fmt.Sprintf("the upstream was asked for %d lists and %d watches, want one list of %d pages and the watch behind it:\n%s", lists, watches, pages, h.upstream)
}

func (h *herd) fill(t *testing.T) {
	t.Helper()
	var writers sync.WaitGroup
	for w := range 16 {
		writers.Go(func() {
			for i := w; i < herdObjects; i += 16 {
				object := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("herd-%04d", i)},
					"data": map[string]any{"text": strings.Repeat("some text ", 10)},
				}}
				if _, err := h.In(suite.ConfigMaps).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
}

// list sends one client's request, in one of four ways, and checks that the answer contains all objects.
func (h *herd) list(t *testing.T, number int) {
	path := suite.Collection(suite.ConfigMaps, h.Namespace)
	streams := number%2 == 1
	switch {
	case streams:
		path += "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	case number%8 == 0:
		path += "?resourceVersion=0&limit=500" // as client-go before it streamed
	}
	coding := "identity"
	if number%4 > 1 {
		coding = "gzip"
	}
	header := http.Header{"Accept": {h.media}, "Accept-Encoding": {coding}}
	asker, err := testkit.NewAsker(h.run.Config)
	if err != nil {
		t.Error(err)
		return
	}
	body, err := h.read(t, asker, testkit.Question{Path: path, Header: header})
	if there := named(body); there != herdObjects {
		t.Errorf("%s, %s: %v; %d of %d objects are in %d bytes: %.300s", path, coding, err, there, herdObjects, len(body), body)
	}
}

// named counts the objects whose names a body contains. It uses one pass, as a hundred clients read a megabyte each.
func named(body []byte) (n int) {
	var seen [herdObjects]bool
	for {
		_, rest, found := bytes.Cut(body, []byte("herd-"))
		if !found {
			return n
		}
		body = rest
		if len(rest) < len("0000") {
			return n
		}
		if i, err := strconv.Atoi(string(rest[:len("0000")])); err == nil && i < herdObjects && !seen[i] {
			seen[i] = true
			n++
		}
	}
}

// read reads a list, or a streaming list up to the end of its initial events.
func (h *herd) read(t *testing.T, asker *testkit.Asker, q testkit.Question) ([]byte, error) {
	response, err := asker.Open(t.Context(), q)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var from io.Reader = response.Body
	if response.Header.Get("Content-Encoding") == "gzip" {
		if from, err = gzip.NewReader(response.Body); err != nil {
			return nil, err
		}
	}
	if !q.Watches() || response.StatusCode != http.StatusOK {
		return io.ReadAll(from)
	}
	var body []byte
	piece := make([]byte, 64<<10)
	for ended := false; !ended; {
		n, err := from.Read(piece)
		begin := max(len(body)-len(herdEnd), 0) // of what may hold the end, or its last part
		body = append(body, piece[:n]...)
		ended = bytes.Contains(body[begin:], []byte(herdEnd))
		if err != nil {
			return body, err
		}
	}
	return body, nil
}
