package cache

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/wire"
)

// neighbourhood returns a tree with objects of one namespace and node, among up to others objects of other namespaces
// and nodes on each side. Some objects were added and removed.
func neighbourhood(random *rand.Rand, value func(*Object) string, own []*Object, others int) *tree {
	all := slices.Clone(own)
	for _, namespace := range []string{"a", "z"} {
		for n := range random.IntN(others) {
			all = append(all, pod(fmt.Sprintf("%s/p%d", namespace, n), 1, []string{"n4", "n6"}[random.IntN(2)], ""))
		}
	}
	tree := newTree(value, all)
	for n := range random.IntN(others) {
		tree = tree.put(pod(fmt.Sprintf("%s/q%d", []string{"a", "z"}[n%2], n), 1, []string{"n4", "n6"}[n%3/2], ""))
	}
	// Its own objects are written again in random order, which changes where pages are split.
	for _, o := range own {
		if random.IntN(3) == 0 {
			tree = tree.without(o)
		}
	}
	for _, at := range random.Perm(len(own)) {
		tree = tree.put(own[at])
	}
	return &tree
}

// namesOf returns the keys of each run.
func namesOf(runs iter.Seq[Run]) (names []string) {
	for run := range runs {
		var of []string
		for _, o := range run.Objects() {
			of = append(of, o.Key())
		}
		names = append(names, strings.Join(of, " "))
	}
	return names
}

// TestSegmentsShowNothingOfOthers: the segments of a namespace or node do not depend on other objects, or on objects
// that were removed.
func TestSegmentsShowNothingOfOthers(t *testing.T) {
	random := settings.Random(t)
	byNode := func(o *Object) string { return o.Field(nodeField) }
	for name, of := range map[string]struct {
		value func(*Object) string
		in    interval
	}{"namespace": {nil, Span{Prefix: "m/"}.keys()}, "node": {byNode, Span{}.of("n5")}} {
		t.Run(name, func(t *testing.T) {
			var own []*Object
			for n := range 1000 {
				own = append(own, pod(fmt.Sprintf("m/p%d", n), 1, "n5", ""))
			}
			var want []string
			for range settings.Amount(8, 20) {
				tree := neighbourhood(random, of.value, own, 300)
				segments := namesOf(tree.segments(of.in))
				if want == nil {
					want = segments
					if n := len(want); n < 1000/longestSegment || n > 1000/shortestSegment+1 {
						t.Errorf("got %d segments for 1000 objects", n)
					}
				}
				if !slices.Equal(segments, want) {
					t.Fatal("the segments depend on other objects")
				}
				if runs := namesOf(tree.runs(of.in)); strings.Join(runs, " ") != strings.Join(segments, " ") {
					t.Fatal("the segments are not all objects")
				}
			}
		})
	}
}

// TestInitialEventsShowNothingOfOthers: initial events of a namespace come in segments.
func TestInitialEventsShowNothingOfOthers(t *testing.T) {
	var own []*Object
	for n := range 300 {
		own = append(own, pod(fmt.Sprintf("m/p%d", n), 1, "n5", ""))
	}
	var want []string
	for others := range 3 {
		all := slices.Clone(own)
		for n := range 17 * others {
			all = append(all, pod(fmt.Sprintf("a/p%d", n), 1, "n4", ""))
		}
		l := newTestLane(t, podOptions, 1, all...)
		w := watch(t, l, selecting(t, "m", "", ""), InitialEvents(current(t, l)))
		runs := namesOf(func(yield func(Run) bool) {
			for run, ok := w.NextInitial(); ok && yield(run); run, ok = w.NextInitial() {
			}
		})
		if want == nil {
			want = runs
		}
		if len(runs) < 2 || !slices.Equal(runs, want) {
			t.Errorf("got %d runs with %d objects of others, %d without", len(runs), 17*others, len(want))
		}
	}
}

// TestSegmentsStayPrecompressed: a segment keeps its representations until one of its objects changes, wherever pages
// begin.
func TestSegmentsStayPrecompressed(t *testing.T) {
	tree := newTree(nil, numbered(64*8))
	in := Span{Prefix: "ns/"}.keys()
	precompressed := func() map[string]*wire.PrecompressedPage {
		kept := map[string]*wire.PrecompressedPage{}
		for run := range tree.segments(in) {
			kept[fmt.Sprint(run.Objects()[0].Key(), len(run.Objects()))] = run.Page.Precompressed()
		}
		return kept
	}
	before := precompressed()
	if again := precompressed(); !sameForms(before, again, len(before)) {
		t.Error("got other representations although nothing has changed")
	}
	changed := tree.object(spot{0, 3, 10})
	tree = tree.put(pod(changed.Key(), 9, "n", ""))
	after := precompressed()
	if differ := len(before) - common(before, after); differ < 1 || differ > 4 {
		t.Errorf("got other representations of %d of %d segments after one change", differ, len(before))
	}
}

func common(a, b map[string]*wire.PrecompressedPage) (n int) {
	for segment, precompressed := range a {
		if b[segment] == precompressed {
			n++
		}
	}
	return n
}

func sameForms(a, b map[string]*wire.PrecompressedPage, n int) bool {
	return len(b) == n && common(a, b) == n
}

// TestCompressedListsShowNothingOfOthers: a compressed list of a namespace has the same bytes whatever other namespaces
// contain, and whether or not it was listed before.
func TestCompressedListsShowNothingOfOthers(t *testing.T) {
	random := settings.Random(t)
	var own []*Object
	for n := range 400 {
		own = append(own, pod(fmt.Sprintf("m/p%d", n), 1, "n", strings.Repeat(fmt.Sprint("text", random.Uint64()), 60)))
	}
	var want []byte
	for range 5 {
		tree := neighbourhood(random, nil, own, 200)
		precompressed := wire.NewPrecompressed(1 << 30)
		for range 3 {
			got := compressed(t, precompressed, (&State{objects: *tree, epoch: new(epoch)}).Selection(selecting(t, "m", "", ""), "").Runs())
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("got other bytes (%d, want %d) with other objects in other namespaces", len(got), len(want))
			}
		}
		if stats := precompressed.Stats(); stats.Found == 0 || stats.Made > stats.Found {
			t.Errorf("got no reuse of precompressed pages: %+v", stats)
		}
	}
}

func compressed(t *testing.T, precompressed *wire.Precompressed, runs iter.Seq[Run]) []byte {
	t.Helper()
	var out bytes.Buffer
	body := wire.NewBody(&out, wire.BodyOptions{AcceptEncoding: "gzip", Precompressed: precompressed, Announce: func() {}})
	list := wire.List{Shape: shape, Representation: wire.Representation{Kind: wire.Listed}, Meta: wire.ListMeta{ResourceVersion: "5"}, Runs: func(yield func(wire.Run) bool) {
		for run := range runs {
			if !yield(wire.Run{Page: run.Page, From: run.From, To: run.To}) {
				return
			}
		}
	}}
	if err := body.WriteList(list); err != nil {
		t.Fatal(err)
	}
	if err := body.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
