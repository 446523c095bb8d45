package agents

import (
	"net/http"
	"strconv"
	"time"

	"golang.org/x/net/http2"
)

// resource is one list and watch of a client, as a reflector makes them. Only the goroutine of its connection uses it,
// or a timer while no stream of the resource is open.
type resource struct {
	path    string
	version uint64 // of the last complete event; 0: a list is next

	watching bool // the server has accepted the watch
	wasOpen  bool // the server has accepted a watch before
	listing  bool // the current request is a list
	over     bool // the server has ended the watch, and it is not opened again
	status   int
	wait     time.Duration // Retry-After of a refusal
	expired  bool          // the version is too old
	partial  []byte        // beginning of an event or of another body
	received int           // length of the received part, of which partial is the beginning
}

const (
	// headBytes is the maximum length, in bytes, of the kept beginning of an event or a list. The beginning contains
	// version and stamp.
	headBytes = 8 << 10
	// watchSeconds is the timeout of a watch in seconds, longer than the benchmark.
	watchSeconds = "3000"
	// defaultWait is the pause after a refusal without Retry-After.
	defaultWait = time.Second
)

// next returns the path of the next request.
func (r *resource) next() string {
	r.listing, r.watching, r.expired = r.version == 0, false, false
	r.status, r.wait, r.partial, r.received = 0, defaultWait, nil, 0
	if r.listing {
		return r.path + "&resourceVersion=0"
	}
	return r.path + "&watch=1&allowWatchBookmarks=true&timeoutSeconds=" + watchSeconds + "&resourceVersion=" +
		strconv.FormatUint(r.version, 10)
}

// begins handles the header of a response.
func (r *resource) begins(c *counters, f *http2.MetaHeadersFrame) {
	r.status, _ = strconv.Atoi(f.PseudoValue("status"))
	if r.status == http.StatusOK && !r.listing {
		r.watching = true
		c.watching.Add(1)
	}
	for _, field := range f.RegularFields() {
		if field.Name == "retry-after" {
			seconds, _ := strconv.Atoi(field.Value)
			r.wait = time.Duration(seconds) * time.Second
		}
	}
}

func (r *resource) keep(data []byte) {
	r.partial = append(r.partial, data[:min(len(data), headBytes-len(r.partial))]...)
	r.received += len(data)
}

// take records the version of a complete event, and reports whether the event concerns an object.
func (r *resource) take(e event) bool {
	r.expired = e.expired
	if e.version > 0 {
		r.version = e.version
	}
	return e.kind == objectEvent
}

// leave records that the connection has ended.
func (r *resource) leave(c *counters) {
	if r.watching {
		r.watching = false
		c.watching.Add(-1)
	}
}

// ends handles the end of a stream. again reports whether another request follows, after the returned time.
func (r *resource) ends(f *Fleet) (again bool, after time.Duration) {
	watched := r.watching
	r.leave(&f.counters)
	switch {
	case watched:
		f.counters.ended.Add(1)
		if r.expired {
			r.version = 0
		}
		r.over = f.config.Once
		return !r.over, 0
	case r.status == http.StatusOK:
		f.counters.lists.Add(1)
		r.version = f.config.Encoding.listVersion(r.partial)
		return true, 0
	case r.status == http.StatusGone:
		f.counters.refused(r.status)
		r.version = 0
		return true, 0
	}
	f.counters.refused(r.status)
	return true, r.wait
}
