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

// step is what one frame of the upstream means to a lane.
type step struct {
	by      *listWatch
	kind    stepKind
	change  cache.Change
	rv      cache.RV
	frame   []byte // of a bookmark; valid until the next step is read
	columns []byte // the Table's columns, on the first frame of a stream only; own memory
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
	frames wire.FrameReader
	cancel context.CancelFunc
	// ordered: what comes rises in resourceVersion. Initial events do not: they come in the order of their keys.
	ordered bool
	last    cache.RV
	resumed bool           // it goes on from where another ended, of a resource that the upstream reads from etcd
	until   time.Time      // when its time is over
	ahead   chan readAhead // has the first step, where that is read ahead; nil when it was not, or was taken
}

// earlyEnd is how much earlier than it was asked to a watch may end because its time is over.
const earlyEnd = time.Second

// isOverdue tells whether the stream's time is over.
func (s *stream) isOverdue() bool { return time.Until(s.until) < earlyEnd }

// judge tells why the stream ended. The event at which etcd was compacted it still sends, but not what was there
// before: kube-apiserver's watch fails at that, at once, whoever asks and however often (semantics 4.4).
func (s *stream) judge(err error) error {
	if s.resumed && s.last == 0 && upstream.HasCode(err, http.StatusInternalServerError) {
		return fmt.Errorf("%w: %w", errForgotten, err)
	}
	return err
}

// close ends the stream; a next under way fails.
func (s *stream) close() {
	s.cancel()
	s.body.Close()
}

// next reads one step. io.EOF is a clean end; an ERROR frame is a *StatusError.
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
		return step{}, fmt.Errorf("read a watch frame: its resourceVersion went back from %d to %d", s.last, st.rv)
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
		st.change.Kind = cache.Upsert
	case wire.TypeDeleted:
		st.change.Kind = cache.Delete
	default:
		return step{}, fmt.Errorf("read a watch frame: unknown event type %q", frame.Type)
	}
	st.change.Object, err = s.newObject(frame.Item, &frame.Facts)
	return st, err
}

// statusOf makes an error of the Status in an ERROR frame.
func statusOf(f *wire.Failure) error {
	code := f.Code
	if code == 0 {
		code = http.StatusInternalServerError
	}
	return &upstream.StatusError{Code: code, Header: http.Header{}, Body: bytes.Clone(f.Status)}
}
