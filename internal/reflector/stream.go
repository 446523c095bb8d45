package reflector

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// frameLimit bounds one watch frame in bytes: an object is at most 1.5 MB in etcd, its JSON a few times that, and it
// may come with its managed fields and a Table around it.
const frameLimit = 64 << 20

// initialEventsEnd marks the bookmark after the initial events of a streaming list (KEP-3157).
var initialEventsEnd = []byte(`"k8s.io/initial-events-end":"true"`)

// step is what one frame of the upstream means to a lane.
type step struct {
	by      *listWatch
	kind    stepKind
	change  cache.Change
	rv      cache.RV
	frame   wire.Frame // of a bookmark; valid until the next step is read
	columns []byte     // the Table's columns, on the first frame of a stream only; own memory
}

type stepKind int

const (
	stepChange stepKind = iota
	stepBookmark
	stepInitialEnd
)

// stream is one open watch of the upstream, read frame by frame by one goroutine.
type stream struct {
	*listWatch
	body   io.ReadCloser
	frames *wire.FrameReader
	cancel context.CancelFunc
	// ordered: what comes rises in resourceVersion. Initial events do not: they come in the order of their keys.
	ordered bool
	last    cache.RV
}

// close ends the stream; a next under way fails.
func (s *stream) close() {
	s.cancel()
	s.body.Close()
}

// next reads one step. io.EOF is a clean end; an ERROR frame is a *StatusError.
func (s *stream) next() (step, error) {
	line, err := s.frames.Next()
	if err != nil {
		return step{}, err
	}
	frame, err := wire.ParseFrame(line)
	if err != nil {
		return step{}, fmt.Errorf("read a watch frame: %w", err)
	}
	if frame.Type == "ERROR" {
		return step{}, statusOf(frame.Status)
	}
	st := step{by: s.listWatch, columns: bytes.Clone(frame.Columns)}
	if st.rv, err = cache.ParseRV(frame.ResourceVersion); err != nil {
		return step{}, fmt.Errorf("read a watch frame: %w", err)
	}
	if s.ordered && st.rv < s.last {
		return step{}, fmt.Errorf("read a watch frame: its resourceVersion went back from %d to %d", s.last, st.rv)
	}
	s.last = st.rv
	switch frame.Type {
	case "BOOKMARK":
		st.kind, st.frame = stepBookmark, frame
		if bytes.Contains(frame.Row.Object, initialEventsEnd) {
			st.kind = stepInitialEnd
		}
		return st, nil
	case "ADDED", "MODIFIED":
		st.change.Kind = cache.Upsert
	case "DELETED":
		st.change.Kind = cache.Delete
	default:
		return step{}, fmt.Errorf("read a watch frame: unknown event type %q", frame.Type)
	}
	st.change.Object, err = newObject(s.extractor, s.resource, frame.Row)
	return st, err
}

// statusOf makes an error of the Status object in an ERROR frame.
func statusOf(status []byte) error {
	var s struct{ Code int }
	if err := json.Unmarshal(status, &s); err != nil {
		return fmt.Errorf("read the Status in a watch frame: %w", err)
	}
	if s.Code == 0 {
		s.Code = http.StatusInternalServerError
	}
	return &upstream.StatusError{Code: s.Code, Header: http.Header{}, Body: bytes.Clone(status)}
}
