package handlers

import (
	"context"
	"io"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire"
)

// YAML has to be decoded as a whole, which takes a hundred times an answer's bytes of memory and about half a second
// for each MiB. What is larger than this is the upstream's to answer.
const (
	yamlObjects = 500
	yamlBytes   = 1 << 20
)

// tooLargeYAML tells whether the list that a plan makes of a State is to be YAML and too large to become it here.
func tooLargeYAML(q *Request, state *cache.State, p plan) bool {
	if !q.media.yaml {
		return false
	}
	limit := yamlObjects + 1
	if p.limit > 0 {
		limit = min(limit, p.limit)
	}
	chunk := state.Chunk(q.Predicate, p.from, limit)
	return chunk.Len > yamlObjects || chunk.Bytes() > yamlBytes
}

// yamlAtOnce is how many answers become YAML at a time: together they take half a GB of memory.
const yamlAtOnce = 4

// yamlWriter is a wire.YAMLWriter that waits for its turn. The turn is over when the client is written to: however
// slowly it reads, nobody waits for it.
type yamlWriter struct {
	*wire.YAMLWriter
	seats *semaphore.Weighted
	wait  func() (context.Context, context.CancelFunc)
	to    *afterConversion
}

// afterConversion is what is written to when a turn is over.
type afterConversion struct {
	w     io.Writer
	leave func()
}

// Write implements io.Writer.
func (a *afterConversion) Write(p []byte) (int, error) {
	a.leave()
	return a.w.Write(p)
}

func newYAMLWriter(w io.Writer, turns *semaphore.Weighted, wait func() (context.Context, context.CancelFunc)) *yamlWriter {
	to := &afterConversion{w: w}
	return &yamlWriter{YAMLWriter: wire.NewYAMLWriter(to), seats: turns, wait: wait, to: to}
}

// Close implements io.Closer. It fails with the context's error when there was no turn in time.
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
