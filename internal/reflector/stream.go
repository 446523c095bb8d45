package reflector

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// step is the effect of one frame of the upstream on a lane.
type step struct {
	by      *listWatch
	kind    stepKind
	change  cache.Change
	added   bool // whether the object is new, or entered the selector of the watch
	rv      cache.RV
	frame   []byte // frame of a bookmark; valid until the next step is read
	columns []byte // copy of the Table columns; only in the first frame of a stream
}

type stepKind int

const (
	stepChange stepKind = iota
	stepBookmark
	stepInitialEnd
)

// stream is an open watch of the upstream. Only one goroutine reads it.
type stream struct {
	*listWatch
	body   io.ReadCloser
	frames wire.FrameReader
	cancel context.CancelFunc
	// ordered is set if the resourceVersions of events must not decrease. Initial events arrive in the order of their keys
	// instead.
	ordered bool
	last    cache.RV
	resumed bool           // whether the stream continues a watch of a resource that the upstream reads from etcd
	until   time.Time      // time at which the timeout of the watch ends
	ahead   chan readAhead // channel for the step that look reads; nil otherwise
}

// earlyEnd is how long before the end of its timeout a watch may end and still count as timed out.
const earlyEnd = time.Second

func (s *stream) isOverdue() bool { return time.Until(s.until) < earlyEnd }

// judge returns the error that describes why the stream ended. After a compaction of etcd, each resumed watch may fail
// immediately, because kube-apiserver needs the compacted previous version of an object (semantics 4.4). For this case,
// judge returns errForgotten.
func (s *stream) judge(err error) error {
	if s.resumed && s.last == 0 && upstream.HasCode(err, http.StatusInternalServerError) {
		return fmt.Errorf("%w: %w", errForgotten, err)
	}
	return err
}

// close ends the stream. A concurrent call of next fails.
func (s *stream) close() {
	s.cancel()
	s.body.Close()
}

// next reads one step. It returns io.EOF at a clean end, and a *StatusError for an ERROR frame.
func (s *stream) next() (step, error) {
	if s.ahead != nil {
		first := <-s.ahead
		s.ahead = nil
		return first.step, first.err
	}
	return s.read()
}

func (s *stream) read() (step, error) {
	line, err := s.frames.Next()
	if err != nil {
		return step{}, err
	}
	frame, err := s.reader.Frame(line)
	if err != nil {
		return step{}, fmt.Errorf("read a watch frame: %w", err)
	}
	if frame.Type == wire.TypeError {
		return step{}, statusOf(frame.Failure)
	}
	st := step{by: s.listWatch, columns: bytes.Clone(frame.Columns)}
	if st.rv, err = cache.ParseRV(frame.ResourceVersion); err != nil {
		return step{}, fmt.Errorf("read a watch frame: %w", err)
	}
	if s.ordered && st.rv < s.last {
		return step{}, fmt.Errorf("read a watch frame: resourceVersion decreased from %d to %d", s.last, st.rv)
	}
	s.last = st.rv
	switch frame.Type {
	case wire.TypeBookmark:
		st.kind, st.frame = stepBookmark, line
		if frame.InitialEventsEnd {
			st.kind = stepInitialEnd
		}
		return st, nil
	case wire.TypeAdded, wire.TypeModified:
		st.change.Kind, st.added = cache.Upsert, frame.Type == wire.TypeAdded
	case wire.TypeDeleted:
		st.change.Kind = cache.Delete
	default:
		return step{}, fmt.Errorf("read a watch frame: unknown event type %q", frame.Type)
	}
	st.change.Object, err = s.newObject(frame.Item, &frame.Facts)
	return st, err
}

func statusOf(f *wire.Failure) error {
	code := f.Code
	if code == 0 {
		code = http.StatusInternalServerError
	}
	return &upstream.StatusError{Code: code, Header: http.Header{}, Body: bytes.Clone(f.Status)}
}
