package incidents

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// One of two replicas receives changes late, because its watch of config maps is held back.
func TestLaggingReplica(t *testing.T) {
	t.Parallel()
	s, path := newCrowd(t)
	way, held := interpose(t), newHold()
	way.answer(held.watches)
	t.Cleanup(held.release)
	quick, slow := suite.StartFacade(t, suite.Cluster(t), suite.Unpacked), suite.StartFacadeBy(t, way.kubeconfig, suite.Unpacked)
	o := operatorOf(slow, nil)
	for _, f := range []*suite.Facade{quick, slow} {
		startReader(t, f.Config, path+"?resourceVersion=0", "kubelet/v1", readingSlowly).gets(t, http.StatusOK)
	}
	m := watch(t, nil, quick, slow)
	held.hold()
	last := uint64(0)
	for range 16 {
		last = s.Put(t, suite.ConfigMaps, "changes", "", fmt.Sprint(last))
		m.passes(t, 1)
	}
	m.fires(`ListfacadeReplicaLags{pod="b",resource="configmaps"}`)
	waiting := startReader(t, slow.Config, fmt.Sprintf("%s?resourceVersion=%d", path, last), "controller/v1", readingSlowly)
	for where, list := range map[string]func() observe.OpenList{
		"/debug/requests": func() observe.OpenList { return o.requests(t, "age") }, "the operator's page": func() observe.OpenList { return o.page(t).Requests },
	} {
		testkit.Eventually(t, where+" shows the requests that wait for a version of the other replica", func() error {
			for _, r := range list().Items {
				if r.UserAgent == "controller/v1" && r.State == "checking" && r.ResourceVersion == fmt.Sprint(last) {
					return nil
				}
			}
			return errNone
		})
	}
	testkit.Eventually(t, "the operator's page shows that the other replica does not lag", func() error {
		if ahead := operatorOf(quick, nil).pageLane(t, "configmaps"); ahead.ResourceVersion < last {
			return fmt.Errorf("it is at %d, want %d", ahead.ResourceVersion, last)
		}
		return nil
	})
	if behind := o.pageLane(t, "configmaps"); behind.ResourceVersion >= last {
		t.Errorf("the operator's page: got version %d, want below %d", behind.ResourceVersion, last)
	}
	held.release()
	if said := waiting.gets(t, http.StatusOK); !strings.Contains(said, `"name":"changes"`) {
		t.Errorf("%s", said)
	}
	if line := o.topLine(t, "objects"); !strings.Contains(line, "list configmaps v1 namespace") {
		t.Errorf("top --by objects: %s", line)
	}
	m.passes(t, 12)
	m.fires()
	m.verify(t)
}

// hold holds back the events of watches.
type hold struct {
	mu   sync.Mutex    // guards open
	open chan struct{} // closed while nothing is kept
}

func newHold() *hold {
	h := &hold{open: make(chan struct{})}
	close(h.open)
	return h
}

func (h *hold) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = make(chan struct{})
}

func (h *hold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.open:
	default:
		close(h.open)
	}
}

func (h *hold) state() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// watches returns the handler of held watches.
func (h *hold) watches(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	if !r.URL.Query().Has("watch") || !about(r, "configmaps") {
		return false
	}
	next.ServeHTTP(&heldWriter{ResponseWriter: w, hold: h, r: r}, r)
	return true
}

// heldWriter is the answer to a watch.
type heldWriter struct {
	http.ResponseWriter
	hold *hold
	r    *http.Request
}

// Write implements io.Writer.
func (w *heldWriter) Write(p []byte) (int, error) {
	select {
	case <-w.hold.state():
		return w.ResponseWriter.Write(p)
	case <-w.r.Context().Done():
		return 0, io.ErrClosedPipe
	}
}

// Unwrap lets http.ResponseController flush.
func (w *heldWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
