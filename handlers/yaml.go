package handlers

import (
	"context"
	"io"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire"
)

// Limits of a list that is converted to YAML. The conversion needs all objects at the same time. It takes a hundred
// times the memory of the response, and about half a second per MiB. A larger list is forwarded.
const (
	yamlObjects = 500
	yamlBytes   = 1 << 20
)

// tooLargeYAML reports whether a list is requested as YAML and too large for the conversion.
func tooLargeYAML(q *Request, state *cache.State, p plan) bool {
	if q.media.conversion != inYAML {
		return false
	}
	limit := yamlObjects + 1
	if p.limit > 0 {
		limit = min(limit, p.limit)
	}
	chunk := state.Chunk(q.Predicate, p.from, limit)
	return chunk.Len > yamlObjects || chunk.Bytes() > yamlBytes
}

// maxYAMLConversions is the maximum number of concurrent conversions to YAML. Together they take 0.5 GB of memory.
const maxYAMLConversions = 4

// yamlWriter is a wire.YAMLWriter that waits for a seat. It releases the seat when it begins to write to the client, so
// that a slow client does not delay others.
type yamlWriter struct {
	*wire.YAMLWriter
	seats *semaphore.Weighted
	wait  func() (context.Context, context.CancelFunc)
	to    *afterConversion
}

// afterConversion releases the seat before it writes.
type afterConversion struct {
	w     io.Writer
	leave func()
}

// Write implements io.Writer.
func (a *afterConversion) Write(p []byte) (int, error) {
	a.leave()
	return a.w.Write(p)
}

func newYAMLWriter(w io.Writer, seats *semaphore.Weighted,
	wait func() (context.Context, context.CancelFunc)) *yamlWriter {
	to := &afterConversion{w: w}
	return &yamlWriter{YAMLWriter: wire.NewYAMLWriter(to), seats: seats, wait: wait, to: to}
}

// Close implements io.Closer. It returns the context's error if the context ends before a seat is free.
func (y *yamlWriter) Close() error {
	ctx, cancel := y.wait()
	defer cancel()
	if err := y.seats.Acquire(ctx, 1); err != nil {
		return err
	}
	y.to.leave = sync.OnceFunc(func() { y.seats.Release(1) })
	defer y.to.leave()
	return y.YAMLWriter.Close()
}
