package reflector

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/listfacade/listfacade/internal/wire"
)

// The lane's watch and a progress watch deliver the same events at the same time. The lane has each of them once. The
// check of silence runs at the same time.
func TestStreamAndProgressWatchWriteInTurn(t *testing.T) {
	const changes = 300
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		watcher := watchAll(t, lane)
		before := lane.Cache.Stats().RV
		var text strings.Builder
		for i := range uint64(changes) {
			rv := uint64(before) + 1 + i
			text.WriteString(r.FrameText("ADDED", r.ObjectText(fmt.Sprint("ns/", i), rv, ""), rv, "null"))
			bookmark := fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%d"}}`, rv)
			text.WriteString(r.FrameText("BOOKMARK", bookmark, rv, "null"))
		}
		from := lane.synced.Load()
		w := &stepWriter{lane: lane.lane, checker: lane.checker, epoch: &epoch{listWatch: from, shape: stateOf(t, lane).Shape()}, stream: newSilence()}
		open := func() *stream {
			body := io.NopCloser(strings.NewReader(text.String()))
			return &stream{listWatch: from, body: body, frames: wire.Lines{}.Reader(body, wire.FrameLimit), ordered: true}
		}
		var all sync.WaitGroup
		all.Go(func() {
			if err := w.writeAll(open()); !errors.Is(err, io.EOF) {
				t.Errorf("the lane's watch ended with %v", err)
			}
		})
		all.Go(func() {
			for progress := open(); ; {
				st, err := progress.next()
				if err != nil {
					return
				}
				if err := w.write(st); err != nil {
					t.Errorf("write a step of the progress watch: %v", err)
				}
			}
		})
		all.Go(func() {
			for range changes {
				if err := w.checkSilence(); err != nil {
					t.Errorf("got %v, want no silence", err)
				}
			}
		})
		all.Wait()
		synctest.Wait()
		for i := range changes {
			if event, ok := watcher.Next(); !ok || event.Object.Name() != fmt.Sprint(i) {
				t.Fatalf("got event %v, want the addition of %d", event, i)
			}
		}
		if event, ok := watcher.Next(); ok {
			t.Errorf("got one event more: %v", event)
		}
	})
}
