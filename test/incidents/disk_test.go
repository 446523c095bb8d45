package incidents

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/audit"
	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// disk is the target of an audit log. While it is stuck, it accepts only the 64 KiB of a pipe's buffer.
type disk struct {
	path  string
	pipe  *os.File
	lines atomic.Int64

	mu  sync.Mutex    // guards run
	run chan struct{} // closed while the disk accepts writes
}

// newDisk works until the test ends.
func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{path: filepath.Join(t.TempDir(), "audit.log"), run: make(chan struct{})}
	close(d.run)
	if err := syscall.Mkfifo(d.path, 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if d.pipe, err = os.OpenFile(d.path, os.O_RDWR, 0); err != nil { // else it ends before it begins
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		lines := bufio.NewReaderSize(d.pipe, 1<<20)
		for {
			<-d.state()
			if _, err := lines.ReadSlice('\n'); err != nil {
				return
			}
			d.lines.Add(1)
		}
	})
	t.Cleanup(func() { d.recover(); _ = d.pipe.Close(); reading.Wait() })
	return d
}

func (d *disk) state() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.run
}

// stick blocks all writes.
func (d *disk) stick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run = make(chan struct{})
}

// recover accepts writes again.
func (d *disk) recover() {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.run:
	default:
		close(d.run)
	}
}

// objects is a policy that logs all requests except those of operators. Otherwise operators' requests would also wait
// for the disk in blocking modes.
const objects = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- {level: None, nonResourceURLs: ["*"]}
- {level: Metadata}
`

// logging configures a facade that writes audit events of all requests to a disk.
func logging(t *testing.T, d *disk, mode string) func(*facade.Config) {
	t.Helper()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte(objects), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(c *facade.Config) {
		c.Audit.PolicyFile, c.Audit.Path, c.Audit.MaxSize, c.Audit.Mode = policy, d.path, 0, mode
	}
}

// The audit log's disk is stuck during a flood of requests. In mode batch no request waits for it, and dropped events
// are counted.
func TestSlowDisk(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	d := newDisk(t)
	run := suite.StartFacade(t, suite.Cluster(t), suite.Unpacked, logging(t, d, audit.Batch))
	o, m := operatorOf(run, nil), watch(t, nil, run)
	_, path := newCrowd(t)
	d.stick()
	// Each request has two audit lines, in memory twice as long.
	flood(t, run, path+"/one-1?resourceVersion=0&pad="+strings.Repeat("x", 3<<10), 4000)
	o.said(t, "Dropped audit events: the log cannot keep up", "", "")
	m.passes(t, 7)
	m.firesBeside([]string{"ListfacadeErrorBudgetBurn"}, `ListfacadeAuditEventsLost{plugin="buffered",pod="a"}`, `ListfacadeAuditLogBehind{pod="a"}`)
	o.pageSays(t, "The audit log lost ")
	if line := o.topLine(t, "objects"); !strings.Contains(line, "flood/v1 get configmaps v1 resource") {
		t.Errorf("top: %s", line)
	}
	d.recover()
	o.said(t, "Audit log write was slow", "", "")
	testkit.Eventually(t, "each event is in the log, or counted as dropped", func() error {
		return o.accounted(t, d)
	})
	m.passes(t, 12)
	m.firesBeside([]string{"ListfacadeErrorBudgetBurn"})
	m.verify(t)
}

// In mode blocking requests wait for the disk, and no event is dropped.
func TestStuckDisk(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	_, path := newCrowd(t)
	run := suite.StartFacade(t, suite.Cluster(t), suite.Unpacked, logging(t, d, audit.Blocking))
	o := operatorOf(run, nil)
	const requests = 400
	flood(t, run, path+"/one-1?resourceVersion=0", requests)
	d.stick()
	over := make(chan struct{})
	go func() {
		defer close(over)
		flood(t, run, path+"/one-2?resourceVersion=0", requests)
	}()
	testkit.Eventually(t, "requests wait for the audit log", func() error {
		for _, p := range o.requests(t, "age").Items {
			if p.State == "auditing" && p.WaitsFor == "facade" && p.StateSeconds > 0.6 {
				return nil
			}
		}
		return errNone
	})
	d.recover()
	<-over
	o.said(t, "Slow request", "steps", "auditing")
	testkit.Eventually(t, "every event is in the log", func() error { return o.accounted(t, d) })
	if lost, lines := o.counted(t, "apiserver_audit_error_total"), d.lines.Load(); lost > 0 || lines < 4*requests {
		t.Errorf("got %d lines and %v dropped events", lines, lost)
	}
}

// accounted returns an error unless each event is in the log or counted as dropped.
func (o *operator) accounted(t *testing.T, d *disk) error {
	t.Helper()
	made, lost, lines := o.counted(t, "apiserver_audit_event_total"), o.counted(t, "apiserver_audit_error_total"), d.lines.Load()
	if made != lost+float64(lines) {
		return fmt.Errorf("of %v events %d are in the log and %v are counted as dropped", made, lines, lost)
	}
	return nil
}

// counted returns the sum of a metric's series.
func (o *operator) counted(t *testing.T, metric string) (sum float64) {
	t.Helper()
	client, err := rest.HTTPClientFor(o.config)
	if err != nil {
		t.Fatal(err)
	}
	seen := (&target{pod: "a", url: o.facade.URL, client: client}).scrape(t.Context(), kinds{}, map[string]bool{metric: true})
	if len(seen.values) == 0 {
		t.Fatalf("there is no %s", metric)
	}
	for _, value := range seen.values {
		sum += value
	}
	return sum
}

// flood sends a request that many times.
func flood(t *testing.T, run *suite.Facade, path string, times int) {
	t.Helper()
	client := run.HTTP2Client(t)
	var clients errgroup.Group
	clients.SetLimit(16)
	for range times {
		clients.Go(func() error {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, run.URL+path, nil)
			if err != nil {
				return err
			}
			request.Header.Set("User-Agent", "flood/v1")
			response, err := client.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				t.Errorf("%s", response.Status)
			}
			return nil
		})
	}
	if err := clients.Wait(); err != nil {
		t.Error(err)
	}
}
