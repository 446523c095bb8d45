package reflector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// frameLimit bounds one watch frame in bytes: an object is at most 1.5 MB in etcd, its JSON a few times that, and it may
// come with its managed fields and a Table around it.
const frameLimit = 64 << 20

// initialEventsEnd marks the bookmark after the initial events of a streaming list (KEP-3157).
var initialEventsEnd = []byte(`"k8s.io/initial-events-end":"true"`)

// step is what one frame of the upstream means to a lane.
type step struct {
	by      *dialect
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

// dialect is how the upstream is asked in one epoch, and how its answers are read. Immutable.
type dialect struct {
	client    *upstream.Client
	resource  upstream.Resource
	accept    string
	extractor *wire.Extractor
}

// stream is one open watch of the upstream, read frame by frame by one goroutine.
type stream struct {
	*dialect
	body   io.ReadCloser
	frames *wire.FrameReader
	cancel context.CancelFunc
	// ordered: what comes rises in resourceVersion. Initial events do not: they come in the order of their keys.
	ordered bool
	last    cache.RV
}

// lateEnd is how much longer than it was asked to a watch may last: then the connection is dead and nobody said so.
const lateEnd = 30 * time.Second

// watch opens a watch that lasts so many seconds.
func (d *dialect) watch(ctx context.Context, query url.Values, seconds int) (*stream, error) {
	query.Set("timeoutSeconds", strconv.Itoa(seconds))
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+lateEnd)
	response, err := d.client.Open(ctx, upstream.Target{Path: d.resource.Path(""), Query: query}, d.accept) //nolint:bodyclose // the stream closes it
	if err != nil {
		cancel()
		return nil, err
	}
	frames := wire.NewFrameReader(response.Body, frameLimit)
	return &stream{dialect: d, body: response.Body, frames: frames, cancel: cancel, ordered: true}, nil
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
	st := step{by: s.dialect, columns: bytes.Clone(frame.Columns)}
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

func newObject(e *wire.Extractor, r upstream.Resource, row wire.Row) (*cache.Object, error) {
	item, facts, err := e.Scan(row)
	if err != nil {
		return nil, err
	}
	rv, err := cache.ParseRV(facts.ResourceVersion)
	if err != nil {
		return nil, fmt.Errorf("object %s/%s: %w", facts.Namespace, facts.Name, err)
	}
	if facts.Name == "" || r.Namespaced != (facts.Namespace != "") {
		return nil, fmt.Errorf("object %q in namespace %q does not fit its resource's scope", facts.Name, facts.Namespace)
	}
	key := facts.Name
	if facts.Namespace != "" {
		key = facts.Namespace + "/" + facts.Name
	}
	labels := make(selectors.LabelSet, len(facts.Labels))
	for i, label := range facts.Labels {
		labels[i] = selectors.Label(label)
	}
	return &cache.Object{
		Key: key, RV: rv, Item: item,
		Attributes: selectors.Attributes{Namespace: facts.Namespace, Name: facts.Name, Labels: labels, Fields: facts.Fields},
	}, nil
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

// isLost tells whether err says that the upstream no longer holds the wanted resourceVersion.
func isLost(err error) bool { return upstream.HasCode(err, http.StatusGone) }

// endsEpoch tells whether the lane has to be listed again.
func endsEpoch(err error) bool {
	return isLost(err) || errors.Is(err, errRedefined) || errors.Is(err, errReprinted) || errors.Is(err, errRestored)
}

// isRefused tells whether the upstream will not let the facade read the resource as it asked.
func isRefused(err error) bool {
	return upstream.HasCode(err, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusNotAcceptable)
}
