package wire_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// cachedPage is a page with precompressed runs.
type cachedPage struct {
	page
	runs wire.PrecompressedPage
}

func (p *cachedPage) Precompressed() *wire.PrecompressedPage { return &p.runs }

// pagesOf returns pages with the given numbers of items. Each item contains the given number of bytes.
func pagesOf(t testing.TB, bytes int, sizes ...int) []*cachedPage {
	t.Helper()
	pages := make([]*cachedPage, len(sizes))
	for i, size := range sizes {
		pages[i] = &cachedPage{}
		for j := range size {
			pages[i].page = append(pages[i].page, itemOf(t, fmt.Sprintf("%d.%d %s", i, j, strings.Repeat("s", bytes))))
		}
	}
	return pages
}

// listBody returns the uncompressed body of a list of runs.
func listBody(t testing.TB, precompressed *wire.Precompressed, encoding string, parts ...wire.Run) []byte {
	t.Helper()
	var b bytes.Buffer
	list := listOf(parts...)
	list.Meta.ResourceVersion, list.Now = "7", time.Now()
	compressed := false
	body := wire.NewBody(&b, wire.BodyOptions{AcceptEncoding: encoding, Precompressed: precompressed, Announce: func() { compressed = true }})
	if err := body.WriteList(list); err != nil {
		t.Fatal(err)
	}
	if err := body.Close(); err != nil {
		t.Fatal(err)
	}
	if !compressed {
		return b.Bytes()
	}
	z, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func allOf(pages []*cachedPage) (parts []wire.Run) {
	for _, p := range pages {
		parts = append(parts, wire.Run{Page: p, To: p.Len()})
	}
	return parts
}

// Lists are the same for every budget.
func TestPrecompressedRunsDoNotChangeLists(t *testing.T) {
	pages := pagesOf(t, 1500, 64, 128, 20, 64, 3, 64)
	for _, budget := range []int64{0, 1, 2000, 5000, 1 << 20} {
		precompressed := wire.NewPrecompressed(budget)
		random := rand.New(rand.NewPCG(1, uint64(budget)))
		for range 20 {
			parts := allOf(pages)
			for i := range parts {
				if random.IntN(4) == 0 {
					parts[i].From = random.IntN(parts[i].To)
				}
				if random.IntN(4) == 0 {
					parts[i].To -= random.IntN(parts[i].To - parts[i].From)
				}
			}
			parts = parts[random.IntN(len(parts)):]
			want := listBody(t, nil, "identity", parts...)
			if got := listBody(t, precompressed, "gzip", parts...); !bytes.Equal(got, want) {
				t.Fatalf("budget %d: got %d bytes, want %d", budget, len(got), len(want))
			}
		}
		stats := precompressed.Stats()
		if stats.Bytes > budget {
			t.Errorf("got %d bytes, want at most the budget of %d", stats.Bytes, budget)
		}
		if made := stats.Made > 0; made != (budget > 0) || budget == 1<<20 && stats.Found == 0 {
			t.Errorf("budget %d: got %+v", budget, stats)
		}
	}
}

// Yield evicts least recently used runs. No more runs are cached until Recover is called.
func TestYieldEvictsRuns(t *testing.T) {
	pages := pagesOf(t, 1500, 64, 64, 64, 64)
	precompressed, want := wire.NewPrecompressed(1<<20), listBody(t, nil, "identity", allOf(pages)...)
	lists := func() wire.PrecompressedStats {
		t.Helper()
		if got := listBody(t, precompressed, "gzip", allOf(pages)...); !bytes.Equal(got, want) {
			t.Error("got a different list")
		}
		return precompressed.Stats()
	}
	all := lists()
	freed := precompressed.Yield(all.Bytes / 2)
	if rest := lists(); freed < all.Bytes/2 || freed == all.Bytes || rest.Bytes > all.Bytes/2 {
		t.Errorf("evicted %d of %d bytes, then %d are cached", freed, all.Bytes, rest.Bytes)
	}
	if freed := precompressed.Yield(1 << 20); freed == 0 {
		t.Error("nothing was evicted")
	}
	if none := lists(); none.Bytes != 0 {
		t.Errorf("got %d bytes in the cache, want none", none.Bytes)
	}
	for range 100 {
		precompressed.Recover()
	}
	if again := lists(); again.Bytes != all.Bytes {
		t.Errorf("got %d bytes in the cache, want %d", again.Bytes, all.Bytes)
	}
	runtime.KeepAlive(pages) // runs are dropped with their pages
}

// A body of the maximum uncompressed size is not compressed, and one byte more is.
func TestPrecompressedRunsKeepTheSizeLimit(t *testing.T) {
	pages := pagesOf(t, 1000, 64, 56)
	short := len(listBody(t, nil, "identity", allOf(pages)...))
	if short >= pieceSize {
		t.Fatalf("got a list of %d bytes, want less than %d", short, pieceSize)
	}
	for _, more := range []int{pieceSize - short, pieceSize - short + 1} {
		last := pages[1].page[len(pages[1].page)-1]
		padded := &cachedPage{page: append(page{}, pages[1].page...)}
		padded.page[len(padded.page)-1] = itemOf(t, "1.55 "+strings.Repeat("s", 1000+more))
		if grown := padded.page[len(padded.page)-1].Size() - last.Size(); grown != more {
			t.Fatalf("item is larger by %d bytes, want %d", grown, more)
		}
		precompressed, announced := wire.NewPrecompressed(1<<20), 0
		parts := []wire.Run{{Page: pages[0], To: 64}, {Page: padded, To: 56}}
		for range 3 {
			announced = 0
			list := listOf(parts...)
			list.Meta.ResourceVersion, list.Now = "7", time.Now()
			body := wire.NewBody(io.Discard, wire.BodyOptions{AcceptEncoding: "gzip", Precompressed: precompressed, Announce: func() { announced++ }})
			if err := body.WriteList(list); err != nil {
				t.Fatal(err)
			}
			if err := body.Close(); err != nil {
				t.Fatal(err)
			}
			if compressed := short+more > pieceSize; compressed != (announced == 1) {
				t.Errorf("%d bytes: announced %d times", short+more, announced)
			}
		}
	}
}

// Concurrent callers wait for a run that is being made: it is made once.
func TestRunsAreMadeOnce(t *testing.T) {
	pages, precompressed := pagesOf(t, 3000, 64, 64, 64, 64), wire.NewPrecompressed(1<<20)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { listBody(t, precompressed, "gzip", allOf(pages)...) })
	}
	all.Wait()
	if stats := precompressed.Stats(); stats.Made != 4 || stats.Kept != 4 {
		t.Errorf("got %+v, want four runs made and kept", stats)
	}
	runtime.KeepAlive(pages)
}

// The most recently used runs stay in the cache.
func TestRecentlyUsedRunsStay(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		pages := pagesOf(t, 3000, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64)
		one := wire.NewPrecompressed(1 << 20)
		listBody(t, one, "gzip", allOf(pages[:3])...)
		each := one.Stats().Bytes / one.Stats().Kept
		for _, p := range pages {
			p.runs.Drop()
			p.runs = wire.PrecompressedPage{}
		}
		precompressed := wire.NewPrecompressed(each*9 + each/2)
		use := func(p ...*cachedPage) {
			<-time.After(time.Second) // in the bubble: a later use
			listBody(t, precompressed, "gzip", allOf(p)...)
		}
		use(pages[:3]...)
		for i := 3; i < 8; i++ {
			use(pages[i])
			use(pages[:3]...)
		}
		use(pages[8])
		use(pages[9])
		use(pages[:3]...)
		if stats := precompressed.Stats(); stats.Evicted == 0 || stats.Made != 10 {
			t.Errorf("got %+v, want evictions, but none of the runs in constant use", stats)
		}
	})
}

// Runs are dropped with their page: when it is replaced, and when it is garbage collected.
func TestRunsAreDroppedWithTheirPage(t *testing.T) {
	pages, precompressed := pagesOf(t, 3000, 64, 64, 64, 64), wire.NewPrecompressed(1<<20)
	listBody(t, precompressed, "gzip", allOf(pages)...)
	before := precompressed.Stats()
	pages[3].runs.Drop()
	if stats := precompressed.Stats(); stats.Kept != before.Kept-1 || stats.Bytes >= before.Bytes {
		t.Errorf("got %+v after Drop, want fewer than %+v", stats, before)
	}
	listBody(t, precompressed, "gzip", allOf(pages)...)
	if stats := precompressed.Stats(); stats.Kept != before.Kept || stats.Bytes != before.Bytes {
		t.Errorf("got %+v after another list, want %+v", stats, before)
	}
	runtime.KeepAlive(pages)
	pages = nil
	for i := 0; precompressed.Stats().Kept > 0; i++ {
		if i == 1000 {
			t.Fatalf("got %+v after the pages were collected, want no runs", precompressed.Stats())
		}
		runtime.GC()
		runtime.Gosched()
	}
	if stats := precompressed.Stats(); stats.Bytes != 0 {
		t.Errorf("got %+v, want 0 bytes without runs", stats)
	}
}

// The run of a Table is used until the first of its ages changes.
func TestRunsOfTablesExpire(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		shape, err := jsonwire.Encoding{}.Shape(wire.Description{}).WithColumns([]byte(`[{"name":"Name","type":"string"},{"name":"Age","type":"string"}]`))
		if err != nil {
			t.Fatal(err)
		}
		born, p := time.Now().Add(-time.Hour-30*time.Second), &cachedPage{}
		for i := range 64 {
			created := born.Add(time.Duration(i) * time.Millisecond).UTC().Format(time.RFC3339)
			row := jsonwire.Row{
				Object: fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1","creationTimestamp":%q},"x":%q}`, created, strings.Repeat("s", 3000)),
				Cells:  []byte(`["a","1s"]`),
			}
			item, _, err := jsonwire.NewExtractor(nil).Scan(row)
			if err != nil {
				t.Fatal(err)
			}
			p.page = append(p.page, item)
		}
		precompressed := wire.NewPrecompressed(1 << 20)
		table := func(precompressed *wire.Precompressed) string {
			var b bytes.Buffer
			body := wire.NewBody(&b, wire.BodyOptions{AcceptEncoding: "gzip", Precompressed: precompressed, Announce: func() {}})
			representation := wire.Representation{Kind: wire.Row, Meta: wire.MetaV1, Include: wire.IncludeObject}
			list := wire.List{Shape: shape, Representation: representation, Now: time.Now(), Runs: runs(wire.Run{Page: p, To: 64}, wire.Run{Page: p, To: 64})}
			if err := body.WriteList(list); err != nil {
				t.Fatal(err)
			}
			if err := body.Close(); err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewReader(&b)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		for range 40 {
			if got, want := table(precompressed), table(nil); got != want {
				t.Fatalf("the Table is out of date after %v", time.Since(born))
			}
			<-time.After(7 * time.Second) // in the bubble: ages change
		}
		runtime.KeepAlive(p)
		if stats := precompressed.Stats(); stats.Made < 4 || stats.Made > 6 || stats.Kept != 1 {
			t.Errorf("got %+v, want one run that is made again for five changes of ages", stats)
		}
	})
}

// Precompressed initial events are the same frames as single events.
func TestPrecompressedEvents(t *testing.T) {
	pages, precompressed := pagesOf(t, 1000, 64, 2), wire.NewPrecompressed(1<<20)
	representation := wire.Representation{Kind: wire.Whole}
	for range 2 {
		for _, part := range []wire.Run{{Page: pages[0], To: 64}, {Page: pages[0], From: 20, To: 50}} {
			text := wire.PrecompressedEvents(precompressed, builtin, representation, part, time.Now())
			if text == nil {
				t.Fatal("got no precompressed events")
			}
			var b, want bytes.Buffer
			if err := wire.WritePrecompressed(&b, text); err != nil {
				t.Fatal(err)
			}
			framer := builtin.Framer(representation)
			for at := part.From; at < part.To; at++ {
				want.Write(framer.AppendEvent(nil, wire.TypeAdded, part.Page.Item(at)))
			}
			z, err := gzip.NewReader(&b)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Errorf("got %d bytes, %v, want %d", len(got), err, want.Len())
			}
		}
	}
	if stats := precompressed.Stats(); stats.Made != 2 || stats.Found != 2 {
		t.Errorf("got %+v, want two runs, each found once", stats)
	}
	for name, none := range map[string]*wire.Deflated{
		"few bytes":  wire.PrecompressedEvents(precompressed, builtin, representation, wire.Run{Page: pages[1], To: 2}, time.Now()),
		"a Table":    wire.PrecompressedEvents(precompressed, builtin, wire.Representation{Kind: wire.Row}, wire.Run{Page: pages[0], To: 64}, time.Now()),
		"no budget":  wire.PrecompressedEvents(wire.NewPrecompressed(0), builtin, representation, wire.Run{Page: pages[0], To: 64}, time.Now()),
		"no cache":   wire.PrecompressedEvents(nil, builtin, representation, wire.Run{Page: pages[0], To: 64}, time.Now()),
		"plain page": wire.PrecompressedEvents(precompressed, builtin, representation, wire.Run{Page: pages[0].page, To: 64}, time.Now()),
	} {
		if none != nil {
			t.Errorf("%s: got precompressed events, want none", name)
		}
	}
}

// The result of a selector is cached, even if it is empty, and the selector is not evaluated again.
func TestSelectionsAreCached(t *testing.T) {
	pages, precompressed := pagesOf(t, 3000, 64, 64, 3, 64, 64), wire.NewPrecompressed(1<<20)
	for _, every := range []int{1, 2, 70, 1000} {
		calls := 0
		selector := &wire.Selector{Name: unique.Make(fmt.Sprint(every)), Selects: func(p wire.Page, at int) bool {
			calls++
			return p.Len() > 3 && at%every == every/2
		}}
		var selected []wire.Run
		parts := allOf(pages)
		parts[0].From = 5
		for _, part := range parts {
			for at := part.From; at < part.To; at++ {
				if selector.Selects(part.Page, at) {
					selected = append(selected, wire.Run{Page: part.Page, From: at, To: at + 1})
				}
			}
		}
		want := listBody(t, nil, "identity", selected...)
		for i := range parts {
			parts[i].Selector = selector
		}
		for round := range 3 {
			calls = 0
			if got := listBody(t, precompressed, "gzip", parts...); !bytes.Equal(got, want) {
				t.Errorf("one in %d, round %d: %d bytes, want %d", every, round, len(got), len(want))
			}
			if round > 0 && calls > 0 {
				t.Errorf("one in %d, round %d: the selector was called for %d items", every, round, calls)
			}
		}
	}
}

// The result of a selector is cached from its second use.
func TestSelectionsAreCachedFromTheSecondUse(t *testing.T) {
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	precompressed, asked := wire.NewPrecompressed(1<<20), wire.SelectorUse{User: "alice", Resource: pods, Selector: "a"}
	body := wire.NewBody(io.Discard, wire.BodyOptions{AcceptEncoding: "gzip", Precompressed: precompressed})
	if body.Remembers(asked) {
		t.Error("got true at the first use, want false")
	}
	runtime.GC()
	again := asked
	if again.Selector = strings.Clone(asked.Selector); !body.Remembers(again) {
		t.Error("got false at the second use, want true")
	}
	for name, change := range map[string]func(*wire.SelectorUse){
		"another selector":       func(a *wire.SelectorUse) { a.Selector = "b" },
		"another resource":       func(a *wire.SelectorUse) { a.Resource.Resource = "nodes" },
		"another user":           func(a *wire.SelectorUse) { a.User = "bob" },
		"a very long selector":   func(a *wire.SelectorUse) { a.Selector = strings.Repeat("a", 4<<10+1) },
		"the same long selector": func(a *wire.SelectorUse) { a.Selector = strings.Repeat("a", 4<<10+1) },
	} {
		other := asked
		if change(&other); body.Remembers(other) {
			t.Errorf("%s: got true, want false", name)
		}
	}
	if plain := wire.NewBody(io.Discard, wire.BodyOptions{AcceptEncoding: "identity", Precompressed: precompressed}); plain.Remembers(asked) {
		t.Error("got true for an uncompressed body, want false")
	}
}

// A run whose making panics is not cached, and the next caller makes it.
func TestFailedRunsAreMadeAgain(t *testing.T) {
	pages, precompressed, fails := pagesOf(t, 3000, 64), wire.NewPrecompressed(1<<20), true
	part := wire.Run{Page: pages[0], To: 64, Selector: &wire.Selector{Name: unique.Make("x"), Selects: func(wire.Page, int) bool {
		if fails {
			panic("selector fails")
		}
		return true
	}}}
	func() {
		defer func() { _ = recover() }()
		listBody(t, precompressed, "gzip", part)
	}()
	if stats := precompressed.Stats(); stats.Kept != 0 || stats.Made != 0 {
		t.Errorf("got %+v after a panic, want no runs", stats)
	}
	fails = false
	listBody(t, precompressed, "gzip", part)
	if stats := precompressed.Stats(); stats.Kept != 1 || stats.Made != 1 {
		t.Errorf("got %+v, want one run", stats)
	}
	runtime.KeepAlive(pages)
}
