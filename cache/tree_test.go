package cache

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/selectors"
)

// TestTreeAgainstSortedSlice grows and shrinks a tree, with splits and joins of pages and chunks.
func TestTreeAgainstSortedSlice(t *testing.T) {
	byNode := func(o *Object) string { return o.Field(nodeField) }
	many := settings.Amount(6000, 14000)
	for name, value := range map[string]func(*Object) string{"by key": nil, "by node": byNode} {
		t.Run(name, func(t *testing.T) {
			random := settings.Random(t)
			tree, want := newTree(value, nil), map[string]*Object{}
			for _, phase := range []struct{ steps, deletesIn10 int }{{many, 1}, {many, 9}, {3000, 5}, {4000, 10}} {
				for range phase.steps {
					n := random.IntN(12000)
					o := pod(fmt.Sprintf("ns%d/p%d", n%7, n), RV(random.Uint64()), fmt.Sprint("n", n%50), "")
					if random.IntN(10) < phase.deletesIn10 {
						tree = tree.without(o)
						delete(want, o.Key())
					} else {
						tree = tree.put(o)
						want[o.Key()] = o
					}
				}
				if err := tree.verify(); err != nil {
					t.Fatal(err)
				}
				compareTree(t, &tree, want)
			}
		})
	}
}

// Searches miss objects if a page or chunk has recorded a wrong end.
func TestVerifyFindsWrongEnds(t *testing.T) {
	hundreds := func(o *Object) string { return o.Name()[:4] }
	for name, end := range map[string]func(*chunk) *position{
		"page":  func(c *chunk) *position { return &c.pages[1].end },
		"chunk": func(c *chunk) *position { return &c.end },
	} {
		for of, value := range map[string]func(*Object) string{"key": nil, "value": hundreds} {
			tree := newTree(value, numbered(3*fill))
			if err := tree.verify(); err != nil {
				t.Fatal(err)
			}
			if at := end(tree.chunks[0]); of == "key" {
				at.key = "ns/000000"
			} else {
				at.value = "0009"
			}
			if tree.verify() == nil {
				t.Errorf("got no error for the wrong %s at the end of a %s", of, name)
			}
		}
	}
}

func compareTree(t *testing.T, tree *tree, want map[string]*Object) {
	t.Helper()
	var got, sorted []*Object
	for run := range tree.runs(interval{open: true}) {
		got = append(got, run.Objects()...)
	}
	for _, o := range want {
		sorted = append(sorted, o)
	}
	slices.SortFunc(sorted, tree.compare)
	if !slices.Equal(got, sorted) {
		t.Fatalf("got %d objects, want %d in order", len(got), len(sorted))
	}
}

func TestTreeJoinsSmallPages(t *testing.T) {
	tree := newTree(nil, numbered(64*70))
	for i, o := range numbered(64 * 70) {
		if i%32 != 0 {
			tree = tree.without(o)
		}
	}
	if err := tree.verify(); err != nil {
		t.Fatal(err)
	}
	pages := 0
	for range tree.runs(interval{open: true}) {
		pages++
	}
	if tree.count != 140 || pages > 140/fewest+1 {
		t.Errorf("got %d objects in %d pages", tree.count, pages)
	}
}

func numbered(n int) []*Object {
	objects := make([]*Object, n)
	for i := range objects {
		objects[i] = &Object{Attributes: pods.Attributes(selectors.Identity{Namespace: "ns", Name: fmt.Sprintf("%06d", i)}, nil, nil)}
	}
	return objects
}

// TestEditKeepsOtherPages checks I2 and the identity of pages: an edit changes one page and no older tree.
func TestEditKeepsOtherPages(t *testing.T) {
	before := newTree(nil, numbered(10000))
	old := pagesIn(&before)
	changed := &Object{Attributes: pods.Attributes(selectors.Identity{Namespace: "ns", Name: "005000"}, nil, nil), RV: 9}
	after := before.put(changed)
	fresh := pagesIn(&after)
	if len(old) != len(fresh) {
		t.Fatalf("got %d pages before and %d after", len(old), len(fresh))
	}
	differ := 0
	for i := range old {
		if old[i] != fresh[i] {
			differ++
		}
	}
	if differ != 1 {
		t.Errorf("got %d replaced pages, want 1", differ)
	}
	at, found := before.find(position{key: changed.Key()})
	if !found || before.object(at).RV != 0 {
		t.Error("the edit changed the older tree")
	}
}

func pagesIn(t *tree) []*Page {
	var pages []*Page
	for run := range t.runs(interval{open: true}) {
		pages = append(pages, run.Page)
	}
	return pages
}

// TestSpanAgainstBruteForce compares every span over keys whose order is easy to get wrong (semantics 2.7).
func TestSpanAgainstBruteForce(t *testing.T) {
	namespaces := []string{"a", "a-b", "a.b", "a0b", "ab", "b"}
	names := []string{"a", "a-", "x", "x.y", "x0", "zz"}
	var objects []*Object
	var all []string
	for _, namespace := range namespaces {
		for _, name := range names {
			objects = append(objects, pod(namespace+"/"+name, 1, "n", ""))
			all = append(all, namespace+"/"+name)
		}
	}
	slices.Sort(all)
	s := current(t, newTestLane(t, podOptions, 1, objects...))
	froms := append([]string{"", "/", "a", "a/", "c", "a-b/x\x00", "\xff"}, all...)
	for _, prefix := range []string{"", "a/", "a-b/", "ab/", "b/", "c/", "\xff", "a"} {
		for _, from := range froms {
			span := Span{Prefix: prefix, From: from}
			var want []string
			for _, key := range all {
				if strings.HasPrefix(key, prefix) && key >= from {
					want = append(want, key)
				}
			}
			equal(t, fmt.Sprintf("objects of %q", span), keys(slices.Collect(s.Objects(span))), want)
			equal(t, fmt.Sprintf("count of %q", span), s.Count(span), len(want))
		}
	}
}

func TestRunsAreWholePagesInside(t *testing.T) {
	s := &State{objects: newTree(nil, numbered(64*5))}
	partial := 0
	for run := range s.Runs(Span{From: "ns/000100"}) {
		if !run.whole() {
			partial++
		}
	}
	if partial != 1 {
		t.Errorf("got %d partial runs, want only the first", partial)
	}
}

func TestReadingAllocatesNothingPerObject(t *testing.T) {
	s := &State{objects: newTree(nil, numbered(64*50))}
	few := testing.AllocsPerRun(10, func() { walk(s, "ns/003000") })
	all := testing.AllocsPerRun(10, func() { walk(s, "") })
	if all > few || all > 8 {
		t.Errorf("got %v allocations for 3,200 objects, want %v as for 200", all, few)
	}
}

func walk(s *State, from string) (n int) {
	for range s.Objects(Span{From: from}) {
		n++
	}
	return n
}
