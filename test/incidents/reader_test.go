package incidents

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

// reader lists a collection repeatedly.
type reader struct {
	client *http.Client
	url    string
	agent  string
	stop   func() // ends it

	mu    sync.Mutex // guards what follows
	codes map[int]int
	code  int
	last  string // what the last answer was
}

// startReaders starts readers of the most recent state, like controllers, and more frequent readers of cached states,
// like kubelets, until the test ends.
func startReaders(t *testing.T, config *rest.Config, path string) (recent, cached *reader) {
	t.Helper()
	recent = startReader(t, config, path, "controller/v1", time.Second)
	return recent, startReader(t, config, path+"?resourceVersion=0", "kubelet/v1", 250*time.Millisecond)
}

// startReader starts a reader until the test ends.
func startReader(t *testing.T, config *rest.Config, path, agent string, every time.Duration) *reader {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{client: client, url: config.Host + path, agent: agent, codes: map[int]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for ctx.Err() == nil {
			r.read(ctx)
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	}()
	r.stop = func() { cancel(); <-done; client.CloseIdleConnections() }
	t.Cleanup(r.stop)
	return r
}

func (r *reader) read(ctx context.Context) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return
	}
	request.Header.Set("User-Agent", r.agent)
	response, err := r.client.Do(request)
	if err != nil {
		r.note(0, err.Error())
		return
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	r.note(response.StatusCode, fmt.Sprint(response.Header["Warning"], string(body)))
}

func (r *reader) note(code int, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.codes[code]++
	r.code, r.last = code, what
}

// gets waits until a read receives a code (0 for no answer), and returns the answer's warnings and body.
func (r *reader) gets(t *testing.T, code int) string {
	t.Helper()
	r.mu.Lock()
	clear(r.codes)
	r.mu.Unlock()
	var last string
	testkit.Eventually(t, fmt.Sprintf("a read receives %d", code), func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if last = r.last; r.codes[code] == 0 || r.code != code {
			return fmt.Errorf("got codes %v, the last answer: %s", r.codes, last[:min(len(last), 500)])
		}
		return nil
	})
	return last
}

// readingSlowly is the interval of reads in tests where it matters little.
const readingSlowly = 300 * time.Millisecond
