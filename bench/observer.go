package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync"
	"time"
)

// stampKey is the annotation with the time at which a pod was patched, in nanoseconds since 1970.
const stampKey = "bench.listfacade.dev/sent"

// stampBefore precedes the stamp in an event. In the managed fields, the key has another prefix.
const stampBefore = `"` + stampKey + `":"`

// arrival is the arrival of one event at one watch.
type arrival struct {
	at   time.Time
	hash uint64 // of the complete frame
}

// observer reads one watch of pods, line by line.
type observer struct {
	server *server
	path   string // of the pods; empty: all
	seed   maphash.Seed

	mu   sync.Mutex
	seen map[int64]arrival // by stamp; guarded by mu
}

// run watches until the context ends. It calls ready when the watch is established.
func (o *observer) run(ctx context.Context, ready func()) error {
	q, err := o.server.watchFrom(ctx, cmp.Or(o.path, "/api/v1/pods"))
	if err != nil {
		return err
	}
	response, err := o.server.open(ctx, q)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	ready()
	lines := bufio.NewReaderSize(response.Body, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		at := time.Now()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return &endedError{server: o.server.name, after: o.count(), cause: err}
		}
		if err := o.note(line, at); err != nil {
			return err
		}
	}
}

func (o *observer) note(frame []byte, at time.Time) error {
	_, rest, ok := bytes.Cut(frame, []byte(stampBefore))
	if !ok {
		return &answerError{server: o.server.name, question: "watch", what: fmt.Sprintf("unexpected event %.200q", frame)}
	}
	digits, _, _ := bytes.Cut(rest, []byte(`"`))
	stamp, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return &answerError{server: o.server.name, question: "watch", what: "stamp: " + err.Error()}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, twice := o.seen[stamp]; twice {
		return &answerError{server: o.server.name, question: "watch", what: "received an event twice"}
	}
	o.seen[stamp] = arrival{at: at, hash: maphash.Bytes(o.seed, frame)}
	return nil
}

func (o *observer) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seen)
}

// endedError reports that a server ended a watch, which it may do at any time.
type endedError struct {
	server string
	after  int // events
	cause  error
}

func (e *endedError) Error() string {
	return fmt.Sprintf("%s ended a watch after %d events: %v", e.server, e.after, e.cause)
}
