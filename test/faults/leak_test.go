package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// file is the kind of open files with a path.
const file = "file"

// openFiles lists the open files and connections of the process, without those of polling.
func openFiles(t *testing.T) map[string]int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("open files cannot be listed here: %v", err)
	}
	kinds := map[string]int{}
	for _, entry := range entries {
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err != nil {
			continue // that of the listing itself
		}
		kind, _, _ := strings.Cut(target, ":")
		if strings.HasPrefix(target, "/") {
			kind = file
		}
		kinds[kind]++
	}
	return kinds
}

// Clients disconnect from a facade in every impolite way. After its end no goroutine, connection or file remains.
func TestNoLeaks(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	for i := range 20 {
		s.Put(t, suite.ConfigMaps, fmt.Sprintf("o%d", i), "", strings.Repeat("x", 100<<10))
	}
	suite.FacadeKubeconfig(t, suite.Cluster(t)) // the client that grants the rights keeps a connection
	before := openFiles(t)
	running := goleak.IgnoreCurrent()
	run := suite.StartFacade(t, suite.Cluster(t), func(c *facade.Config) { c.Preload = []string{"pods"} })
	path := run.URL + suite.Collection(suite.ConfigMaps, s.Namespace)
	for _, c := range []*http.Client{run.HTTP2Client(t), run.HTTP1Client(t)} {
		var group errgroup.Group
		for range 20 {
			for _, query := range []string{
				path + "?resourceVersion=0",                        // a list, from the cache
				path,                                               // a consistent list
				path + "?watch=1&resourceVersion=0",                // a watch
				path + "?watch=1&timeoutSeconds=1",                 // a watch with a timeout
				path + "?watch=1&resourceVersion=1",                // one that is refused
				path + "/none",                                     // a missing object
				run.URL + "/api/v1/secrets",                        // a forwarded resource
				run.URL + "/api/v1/secrets?watch=1",                // also as a watch
				run.URL + "/apis/no.such.group/v1/things?limit=1",  // what the upstream does not know
				run.URL + "/api/v1/pods?resourceVersion=999999999", // a version that never comes
			} {
				group.Go(func() error { return impolite(t.Context(), c, query) })
			}
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		c.CloseIdleConnections()
	}
	run.Close(t)
	testkit.Eventually(t, "no goroutine, connection or file remains", func() error {
		run.CloseIdle() // a connection may have been busy with the end of its last stream when the facade closed
		if err := goleak.Find(running); err != nil {
			return err
		}
		if after := openFiles(t); after["socket"] > before["socket"] || after[file] > before[file] {
			return fmt.Errorf("open before %v, after %v", before, after)
		}
		return nil
	})
}

// impolite sends a request, reads a few bytes, and disconnects.
func impolite(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	defer response.Body.Close()
	if strings.Contains(url, "watch=1") {
		return nil // without reading at all
	}
	if _, err := io.CopyN(io.Discard, response.Body, 10); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}
