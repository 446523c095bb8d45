package cache

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/selectors"
)

// uidShards selects shards from first to last of a number of equal shards; last is not included.
func uidShards(first, last, of int64) string {
	bound := func(i int64) string {
		all := new(big.Int).Lsh(big.NewInt(1), 64)
		return fmt.Sprintf("'0x%016x'", all.Mul(all, big.NewInt(i)).Div(all, big.NewInt(of)))
	}
	return fmt.Sprintf("shardRange(object.metadata.uid, %s, %s)", bound(first), bound(last))
}

// namespaceHalf selects the namespaces with the lower half of the hashes.
const namespaceHalf = "shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000')"

func parseShards(t testing.TB, text string) *selectors.Shards {
	t.Helper()
	shards, err := selectors.ParseShards(text)
	if err != nil {
		t.Fatal(err)
	}
	return shards
}

// TestEventIsComparedWithItsShardOnly counts the feeds that are compared with an event: one of four shards, with and
// without further selectors, in a lane that had no objects when the watches began.
func TestEventIsComparedWithItsShardOnly(t *testing.T) {
	const shards, others = 4, 5
	for _, text := range []string{"object.metadata.uid", "object.metadata.namespace"} {
		l, e := steppedLane(t)
		shardOf := map[*feed]*selectors.Shards{}
		for i := range int64(shards) {
			shard := parseShards(t, strings.ReplaceAll(uidShards(i, i+1, shards), "object.metadata.uid", text))
			for n := range others {
				label := []string{"", fmt.Sprint("team!=t", n)}[min(n, 1)]
				w := watch(t, l, selecting(t, "", label, "").Within(shard), FromNow())
				shardOf[w.feed] = shard
			}
		}
		touched := map[string]int{}
		for i := range 100 {
			o := pod(fmt.Sprintf("%d-team/p%d", i, i), RV(2+i), "", "x") // FNV spreads texts with different beginnings
			apply(t, l, Upsert, o)
			settle(e)
			compared := 0
			for d, shard := range shardOf {
				if d.evaluated != e.newest.Load().seq {
					continue
				}
				compared++
				if !shard.Matches(&o.Attributes) {
					t.Fatalf("%s: event of %s was compared with a feed of %s", text, o.Key(), shard)
				}
				touched[shard.String()]++
			}
			if compared != others {
				t.Fatalf("%s: event of %s was compared with %d feeds of %d, want %d", text, o.Key(), compared, len(shardOf), others)
			}
		}
		if len(touched) != shards {
			t.Errorf("%s: got events in %d shards, want %d", text, len(touched), shards)
		}
	}
}

// TestShardsAreAnchoredIfRare: shards that contain more than half of the objects have no anchor, and a rarer label is
// preferred.
func TestShardsAreAnchoredIfRare(t *testing.T) {
	var objects []*Object
	for i := range 64 {
		objects = append(objects, pod(fmt.Sprintf("ns-%d/p%d", i, i), RV(i+1), "", []string{"x", "y"}[min(i%32, 1)]))
	}
	l := newTestLane(t, Options{}, 2000, objects...)
	e := l.state.Load().epoch
	e.sampled.Store(&sample{seq: e.newest.Load().seq, objects: objects})
	var odd []string // more ranges than an anchor has values, each in another sixteenth
	for i := range int64(40) {
		odd = append(odd, uidShards(100*i, 100*i+1, 4000))
	}
	for shard, want := range map[string]anchorKind{
		uidShards(0, 1, 4): byShard, uidShards(1, 2, 2): byShard, uidShards(1, 3, 3): byNothing, uidShards(0, 1, 1): byNothing,
		strings.Join(odd[:8], "||"): byShard, strings.Join(odd, "||"): byNothing,
	} {
		if got := e.sample().anchor(selecting(t, "", "", "").Within(parseShards(t, shard))); got.by != want {
			t.Errorf("%s: got an anchor of kind %d, want %d", shard, got.by, want)
		}
	}
	rare := e.sample().anchor(selecting(t, "", "app=x", "").Within(parseShards(t, uidShards(0, 1, 4))))
	equal(t, "anchor of a rare label", rare.String(), "app [x]")
}

// TestBeginningsCoverTheirRanges compares the beginnings of random ranges with the ranges, at and around their ends.
func TestBeginningsCoverTheirRanges(t *testing.T) {
	r := settings.Random(t)
	const block = uint64(1) << (64 - shardBits)
	for range settings.Amount(1000, 10000) {
		var calls []string
		for range 1 + r.IntN(3) {
			first, last := r.Uint64(), r.Uint64()
			if r.IntN(2) == 0 {
				first, last = first/block*block, last/block*block
			}
			first, last = min(first, last), max(first, last)
			if first < last {
				calls = append(calls, fmt.Sprintf("shardRange(object.metadata.uid, '0x%016x', '0x%016x')", first, last))
			}
		}
		if len(calls) == 0 {
			continue
		}
		shards := parseShards(t, strings.Join(calls, "||"))
		texts := beginnings(shards)
		finds := func(hash uint64) bool {
			return slices.ContainsFunc(texts, func(text string) bool {
				own := beginningOf(hash, int(text[0]))
				return string(own[:]) == text
			})
		}
		exact := len(appendAll(shards.Ranges(), shardBits)) <= mostValues
		for _, by := range shards.Ranges() {
			for _, hash := range []uint64{by.First, by.Last, by.First + (by.Last-by.First)/2} {
				if !finds(hash) {
					t.Fatalf("%s: hash %x is not found", shards, hash)
				}
			}
			before, after := by.First/block*block-1, by.Last|(block-1)
			for _, hash := range []uint64{before, after + 1} {
				near := hash == math.MaxUint64 || hash == 0 || slices.ContainsFunc(shards.Ranges(), func(r selectors.HashRange) bool {
					return r.First/block <= hash/block && hash/block <= r.Last/block
				})
				if exact && !near && finds(hash) {
					t.Fatalf("%s: hash %x is found, but in no block of a range", shards, hash)
				}
			}
		}
	}
}

func appendAll(ranges []selectors.HashRange, bits int) (texts []string) {
	for _, r := range ranges {
		texts = appendBeginnings(texts, r, bits)
	}
	return texts
}

// TestShardsReadTheirPart: the lists, pages and watches of several shards make up those without shards, also after
// changes, deletions and new objects.
func TestShardsReadTheirPart(t *testing.T) {
	g := newGenerator(t)
	objects := g.objects(10)
	l := newTestLane(t, Options{}, 10, slices.Collect(maps.Values(objects))...)
	const shards = 3
	var parts []*Watcher
	for i := range int64(shards) {
		p := selecting(t, "", "", "").Within(parseShards(t, uidShards(i, i+1, shards)))
		parts = append(parts, watch(t, l, p, InitialEvents(current(t, l))))
	}
	all := watch(t, l, selecting(t, "", "", ""), InitialEvents(current(t, l)))
	for rv := RV(11); rv < 200; rv++ {
		c := g.change(rv, l.contents(t))
		apply(t, l, c.Kind, c.Object)
	}
	want, got := drained(all), []string{}
	for _, w := range parts {
		listed := keys(slices.Collect(current(t, l).selected(w.predicate, "")))
		paged := []string{}
		for from := ""; ; {
			chunk := current(t, l).Chunk(w.predicate, from, 2)
			for _, run := range chunk.Runs {
				paged = append(paged, keys(run.Objects())...)
			}
			if !chunk.More {
				break
			}
			from = chunk.Last().Key() + "\x00"
		}
		equal(t, "pages of "+w.predicate.String(), strings.Join(paged, " "), strings.Join(listed, " "))
		got = append(got, drained(w)...)
	}
	ends := func(event string) bool { return strings.HasPrefix(event, "BOOKMARK") }
	want, got = slices.DeleteFunc(want, ends), slices.DeleteFunc(got, ends)
	slices.Sort(want)
	slices.Sort(got)
	equal(t, "events", got, want)
}

// contents returns the newest objects by key.
func (l *Lane) contents(t testing.TB) map[string]*Object {
	all := map[string]*Object{}
	for o := range current(t, l).Objects(Span{}) {
		all[o.Key()] = o
	}
	return all
}
