package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	// drainedWatches is the number of open watches when the facade is closed. A separate server could have more:
	// here client and facade share this process and its race detector.
	drainedWatches = 2000
	drainedEach    = 100 // watches per connection
	drainedLists   = 4   // lists per protocol
	drainedObjects = 20
)

// manyWatches raises the limits so that one caller can open all watches before it reads its lists.
func manyWatches(c *facade.Config) {
	c.Limits.WatchesPerUser, c.Limits.WatchRatePerUser, c.Limits.WatchRate = drainedWatches, 1<<20, 1<<20
	c.RequestTimeout, c.WriteTimeout, c.ShutdownGrace = suite.Patience, suite.Patience, suite.Patience
}

// The test closes a facade with thousands of open watches and some clients that read large lists slowly. The watches
// end, the lists are complete, and no goroutine remains.
func TestDrainEndsWatchesAndCompletesLists(t *testing.T) {
	settings.Long(t)
	s := suite.NewFixture(t, suite.Cluster(t))
	for i := range drainedObjects {
		s.Put(t, suite.ConfigMaps, fmt.Sprintf("o%d", i), "", strings.Repeat("x", 400<<10)) // more than any socket holds
	}
	suite.FacadeKubeconfig(t, suite.Cluster(t)) // the client that grants the rights keeps a connection
	running := goleak.IgnoreCurrent()
	run := suite.StartFacade(t, suite.Cluster(t), manyWatches)
	path := run.URL + suite.Collection(suite.ConfigMaps, s.Namespace)
	lists := beginLists(t, run, path)
	watches, ended := beginWatches(t, run, path)
	closed := make(chan struct{})
	go func() { defer close(closed); run.Close(t) }()
	if err := watches(); err != nil {
		t.Errorf("a watch did not end cleanly: %v", err)
	}
	t.Logf("%d watches ended", ended.Load())
	for name, list := range lists {
		if err := readWhole(list); err != nil {
			t.Errorf("a list over %s: %v", name, err)
		}
	}
	<-closed
	if cut := run.Logs.FilterMessage("Requests were cut off at the end of the grace period").Len(); cut > 0 {
		t.Error("requests were cut off")
	}
	if _, err := run.HTTP1Client(t).Get(run.URL + "/livez"); err == nil {
		t.Error("the address still answers after the drain")
	}
	testkit.Eventually(t, "all goroutines have ended", func() error {
		run.CloseIdle()
		return goleak.Find(running)
	})
}

// beginLists sends list requests and reads only the first byte of each answer.
func beginLists(t *testing.T, run *suite.Facade, path string) map[string]*http.Response {
	t.Helper()
	lists := map[string]*http.Response{}
	for name, newClient := range map[string]func(testing.TB) *http.Client{"HTTP/1.1": run.HTTP1Client, "HTTP/2.0": run.HTTP2Client} {
		for i := range drainedLists {
			response := begin(t, newClient(t), path+"?resourceVersion=0")
			if _, err := io.ReadFull(response.Body, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			lists[fmt.Sprintf("%s, %d", name, i)] = response
		}
	}
	return lists
}

// begin sends a request, and returns when the headers of the answer arrive.
func begin(t *testing.T, client *http.Client, url string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "identity")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, response.Status)
	}
	return response
}

// readWhole reads the rest of a list, and checks that it is complete.
func readWhole(list *http.Response) error {
	rest, err := io.ReadAll(list.Body)
	if err != nil {
		return err
	}
	var whole struct{ Items []struct{} }
	if err := json.NewDecoder(io.MultiReader(strings.NewReader("{"), bytes.NewReader(rest))).Decode(&whole); err != nil {
		return err
	}
	if len(whole.Items) < drainedObjects {
		return fmt.Errorf("%d objects, want %d", len(whole.Items), drainedObjects)
	}
	return nil
}

// beginWatches returns when all watches are open. wait returns when all have ended, with the first error.
func beginWatches(t *testing.T, run *suite.Facade, path string) (wait func() error, ended *atomic.Int64) {
	t.Helper()
	ended = new(atomic.Int64)
	var group, opening errgroup.Group
	var mu sync.Mutex
	for range drainedWatches / drainedEach {
		client := run.HTTP2Client(t)
		opening.Go(func() error {
			for range drainedEach {
				response, err := client.Get(path + "?watch=1&resourceVersion=0&fieldSelector=metadata.name%3Dnone&timeoutSeconds=600")
				if err != nil {
					return err
				}
				if response.StatusCode != http.StatusOK {
					return fmt.Errorf("a watch: %s", response.Status)
				}
				mu.Lock()
				group.Go(func() error {
					defer response.Body.Close()
					_, err := io.Copy(io.Discard, response.Body)
					ended.Add(1)
					return err
				})
				mu.Unlock()
			}
			return nil
		})
	}
	if err := opening.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := ended.Load(); n > 0 {
		t.Fatalf("%d watches have ended already", n)
	}
	return group.Wait, ended
}
