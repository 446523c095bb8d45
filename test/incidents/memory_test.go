package incidents

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	// memoryBudget is the minimum of a facade's memory budget.
	memoryBudget = "64Mi"
	// A list of that many objects of that size is a large answer.
	largeObjects, largeObject = 40, 200 << 10
	// dawdling is the interval between clients that read their answers slowly.
	dawdling = 50 * time.Millisecond
)

// Clients request more concurrent long lists than the facade has memory for, and read them slowly.
func TestMemoryBudget(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	makeLarge(t, s)
	process := suite.StartProcess(t, nil, suite.FacadeKubeconfig(t, suite.Cluster(t)), "--write-timeout", "1m",
		"--memory-budget", memoryBudget, "--pack=off", "--max-requests-inflight-per-user", "300")
	run := &suite.Facade{URL: process.Config.Host, Config: process.Config}
	run.AwaitReady(t)
	o, m := operatorOf(run, nil), watch(t, nil, run)
	path := suite.Collection(templates, s.Namespace) + "?resourceVersion=0"
	small := startReader(t, run.Config, suite.Collection(templates, s.Namespace)+"/small?resourceVersion=0", "kubelet/v1", readingSlowly)
	small.gets(t, http.StatusOK)
	list := startReader(t, run.Config, path, "controller/v1", time.Second)
	list.gets(t, http.StatusOK)
	let := dawdle(t, run, path)
	list.gets(t, http.StatusTooManyRequests)
	m.passes(t, 14)
	m.firesBeside([]string{"ListfacadeErrorBudgetBurn", "ListfacadeHeavyLists", "ListfacadeMemoryNearBudget"}, `ListfacadeMemoryRefuses{account="answers",pod="a"}`)
	small.gets(t, http.StatusOK)
	if first := o.requests(t, "bytes").Items[0]; first.UserAgent != "slow/v1" || first.State != "writing" || first.WaitsFor != "client" {
		t.Errorf("/debug/requests: %+v", first)
	}
	o.pageSays(t, "refused for lack of memory")
	o.topLine(t, "bytes")
	let()
	list.gets(t, http.StatusOK)
	list.stop()
	m.passes(t, 14)
	m.firesBeside([]string{"ListfacadeErrorBudgetBurn", "ListfacadeHeavyLists"})
	m.verify(t)
	if !strings.Contains(process.Said(), "Memory budget set") {
		t.Error("the output lacks the memory budget")
	}
}

// makeLarge creates objects that do not compress, and a small one.
func makeLarge(t *testing.T, s *suite.Fixture) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{1})
	var writers errgroup.Group
	writers.SetLimit(8)
	for i := range largeObjects {
		content := make([]byte, largeObject*3/4)
		_, _ = random.Read(content)
		writers.Go(func() error {
			return createTemplate(t, s, fmt.Sprint("large-", i), base64.StdEncoding.EncodeToString(content))
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := createTemplate(t, s, "small", "1"); err != nil {
		t.Fatal(err)
	}
}

// dawdle repeatedly requests a list on a new connection and reads only the beginning, until let is called. So all
// memory for answers is used.
func dawdle(t *testing.T, run *suite.Facade, path string) (let func()) {
	t.Helper()
	client := run.HTTP1Client(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, run.URL+path, nil)
			if err != nil {
				return
			}
			request.Header.Set("User-Agent", "slow/v1")
			response, err := client.Do(request)
			if err == nil && response.StatusCode != http.StatusOK {
				_ = response.Body.Close()
			} // the end of ctx closes the others
			select {
			case <-time.After(dawdling): //pace: a new slow client every so often
			case <-ctx.Done():
			}
		}
	}()
	let = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(let)
	return let
}
