package incidents

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	// memoryBudget is the least that a facade takes for one.
	memoryBudget = "64Mi"
	// A list of so many objects of so many bytes is a large answer.
	largeObjects, largeObject = 40, 200 << 10
)

// TestMemoryBudget: clients ask for long lists, more at a time than there is memory for, and take them slowly.
func TestMemoryBudget(t *testing.T) {
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	makeLarge(t, s)
	run, log := startProcess(t, suite.FacadeKubeconfig(t, suite.Cluster(t)), "--memory-budget", memoryBudget, "--pack=off")
	o, m := operatorOf(run, nil), watch(t, nil, run)
	path := suite.Collection(templates, s.Namespace) + "?resourceVersion=0"
	small := startReader(t, run.Config, suite.Collection(templates, s.Namespace)+"/small?resourceVersion=0", "kubelet/v1", readingSlowly)
	small.gets(t, http.StatusOK)
	list := startReader(t, run.Config, path, "controller/v1", time.Second)
	list.gets(t, http.StatusOK)
	let := dawdle(t, run, path, 40)
	list.gets(t, http.StatusTooManyRequests)
	m.passes(t, 14)
	m.firesBeside([]string{"ListfacadeErrorBudgetBurn", "ListfacadeHeavyLists", "ListfacadeMemoryNearBudget"}, `ListfacadeMemoryRefuses{account="answers",pod="a"}`)
	small.gets(t, http.StatusOK)
	if first := o.requests(t, "bytes").Items[0]; first.UserAgent != "slow/v1" || first.State != "writing" || first.WaitsFor != "client" {
		t.Errorf("/debug/requests: %+v", first)
	}
	o.pageSays(t, "refused for want of memory")
	o.topLine(t, "bytes")
	let()
	list.gets(t, http.StatusOK)
	list.stop()
	m.passes(t, 14)
	m.firesBeside([]string{"ListfacadeErrorBudgetBurn", "ListfacadeHeavyLists"})
	m.verify(t)
	if !strings.Contains(log.String(), "memory budget") {
		t.Errorf("%s", log)
	}
}

// makeLarge makes objects that nothing makes smaller, and a small one.
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

// dawdle asks for a list on so many connections, and reads only how the answers begin until let is called.
func dawdle(t *testing.T, run *suite.Facade, path string, clients int) (let func()) {
	t.Helper()
	var bodies []*http.Response
	for range clients {
		client := run.HTTP1Client(t)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, run.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("User-Agent", "slow/v1")
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, response)
	}
	let = sync.OnceFunc(func() {
		for _, response := range bodies {
			_ = response.Body.Close()
		}
	})
	t.Cleanup(let)
	return let
}

var servingAt = regexp.MustCompile(`https://127\.0\.0\.1:\d+`)

// said is what a process wrote.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// startProcess runs a facade in a process of its own until the test ends, so that its memory is its own.
func startProcess(t *testing.T, kubeconfig string, flags ...string) (*suite.Facade, *said) {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(suite.Programs, "listfacade-incidents"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "../../cmd/listfacade").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dir := t.TempDir()
	process := exec.Command(program, append([]string{
		"--kubeconfig", kubeconfig, "--secure-port", "0", "--cert-dir", dir, "--anonymous-acts-as-kubeconfig", "--write-timeout", "1m",
	}, flags...)...)
	stderr, err := process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	log, address, done := &said{}, make(chan string, 1), make(chan struct{})
	go func() {
		defer close(done)
		defer close(address)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			log.mu.Lock()
			log.text.WriteString(lines.Text() + "\n")
			log.mu.Unlock()
			if at := servingAt.FindString(lines.Text()); at != "" && len(address) == 0 && strings.Contains(lines.Text(), "serving") {
				address <- at
			}
		}
	}()
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		<-done
		if err := process.Wait(); err != nil {
			t.Errorf("the facade ended with %v", err)
		}
		if t.Failed() {
			t.Logf("it said\n%s", log)
		}
	})
	host, ok := <-address
	if !ok {
		t.Fatal("the facade does not serve")
	}
	run := &suite.Facade{URL: host, Config: &rest.Config{Host: host, TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "listfacade.crt")}, QPS: -1}}
	run.AwaitReady(t)
	return run, log
}
