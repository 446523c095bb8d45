package cache

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/selectors"
)

// TestSelectAgainstBruteForce reads with every combination of scope and selectors, from every key, with and without
// indexes. The result depends only on the predicate (I9).
func TestSelectAgainstBruteForce(t *testing.T) {
	var objects []*Object
	for i := range 60 {
		node, app := fmt.Sprint("n", i%4), fmt.Sprint("app", i%3)
		if i%7 == 0 {
			node = ""
		}
		if i%5 == 0 {
			app = ""
		}
		objects = append(objects, pod(fmt.Sprintf("ns%d/p%d", i%3, i), RV(i+1), node, app))
	}
	indexed := current(t, newTestLane(t, podOptions, 100, objects...))
	plain := current(t, newTestLane(t, Options{}, 100, objects...))
	for _, namespace := range []string{"", "ns1", "none"} {
		for _, labelSelector := range []string{"", "app=app1", "app=", "app!=app1", "!app", "app in (app0,app2)"} {
			for _, fieldSelector := range []string{"", "spec.nodeName=n1", "spec.nodeName=", "spec.nodeName!=n1",
				"metadata.name=p4", "metadata.name=p4,spec.nodeName=n1", "spec.nodeName=n1,spec.nodeName=n2"} {
				p := selecting(t, namespace, labelSelector, fieldSelector)
				for _, from := range []string{"", "ns1/", "ns1/p22", "ns1/p4\x00", "ns2/", "zz"} {
					want := matching(plain, p, from)
					what := fmt.Sprintf("%s from %q", p, from)
					equal(t, what+", indexed", keys(slices.Collect(indexed.selected(p, from))), want)
					equal(t, what+", plain", keys(slices.Collect(plain.selected(p, from))), want)
				}
			}
		}
	}
}

func matching(s *State, p *selectors.Predicate, from string) []string {
	var want []string
	for o := range s.Objects(Span{}) {
		if o.Key() >= from && p.Matches(&o.Attributes) {
			want = append(want, o.Key())
		}
	}
	return want
}

func TestIndexReadsOnlyItsCandidates(t *testing.T) {
	var objects []*Object
	for i := range 1000 {
		objects = append(objects, pod(fmt.Sprintf("ns%d/p%d", i%10, i), 1, fmt.Sprint("n", i%100), ""))
	}
	s := current(t, newTestLane(t, podOptions, 1, objects...))
	for _, c := range []struct {
		namespace, fields string
		want              int
	}{
		{"", "spec.nodeName=n3", 10},
		{"ns3", "spec.nodeName=n3", 10},
		{"ns4", "spec.nodeName=n3", 0},
		{"ns3", "metadata.name=p3,spec.nodeName=n4", 1},
		{"ns3", "", 100},
	} {
		got := looked(s, selecting(t, c.namespace, "", c.fields))
		equal(t, fmt.Sprintf("candidates of %+v", c), got, c.want)
	}
}

func TestClusterScopedName(t *testing.T) {
	objects := []*Object{pod("a", 1, "", ""), pod("b", 2, "", "")}
	s := current(t, newTestLane(t, Options{Scope: selectors.Cluster}, 2, objects...))
	p := selecting(t, "", "", "metadata.name=b")
	equal(t, "selected", keys(slices.Collect(s.selected(p, ""))), []string{"b"})
	equal(t, "candidates", looked(s, p), 1)
}

// looked returns how many candidates a list by p compares.
func looked(s *State, p *selectors.Predicate) int {
	selection := s.Selection(p, "")
	for range selection.Runs() {
	}
	return selection.Looked
}

// TestSelectionYieldsPages: a list of all namespaces yields complete pages, and parts of pages at its ends.
func TestSelectionYieldsPages(t *testing.T) {
	var objects []*Object
	for i := range 5 * fill {
		app := "x"
		if i%10 == 9 {
			app = "y"
		}
		objects = append(objects, pod(fmt.Sprintf("%c/%04d", 'a'+rune(i/(2*fill)), i), RV(i+1), "n", app))
	}
	s := current(t, newTestLane(t, Options{}, RV(len(objects)), objects...))
	for name, c := range map[string]struct {
		labels, from           string
		whole, parts, selected int
	}{
		"everything":     {whole: 5, selected: 5 * fill},
		"from a key on":  {from: objects[fill/2].Key(), whole: 4, parts: 1, selected: 5*fill - fill/2},
		"most of a page": {labels: "app=x", parts: 5*fill/10 + 4, selected: 5*fill - 5*fill/10},
		"nothing":        {labels: "app=z"},
	} {
		selection := s.Selection(selecting(t, "", c.labels, ""), c.from)
		whole, parts := 0, 0
		for run := range selection.Runs() {
			if run.From == run.To {
				t.Errorf("%s: got an empty run", name)
			}
			if run.whole() {
				whole++
			} else {
				parts++
			}
		}
		equal(t, name, []int{whole, parts, selection.Selected}, []int{c.whole, c.parts, c.selected})
	}
}

// TestChunk: a chunk has More while candidates remain, even if they do not match (semantics 2.6).
func TestChunk(t *testing.T) {
	s := current(t, newTestLane(t, podOptions, 4,
		pod("ns/a", 1, "n1", "x"), pod("ns/b", 2, "n1", "x"), pod("ns/c", 3, "n2", "y"), pod("ns/d", 4, "n1", "y")))
	for _, c := range []struct {
		labels, fields, from string
		limit                int
		want                 []string
		more                 bool
	}{
		{"", "", "", 2, []string{"ns/a", "ns/b"}, true},
		{"", "", "ns/b\x00", 2, []string{"ns/c", "ns/d"}, false},
		{"", "", "", 9, []string{"ns/a", "ns/b", "ns/c", "ns/d"}, false},
		{"app!=y", "", "", 2, []string{"ns/a", "ns/b"}, true},
		{"app!=y", "", "ns/b\x00", 2, nil, false},
		{"app=x", "", "", 2, []string{"ns/a", "ns/b"}, false}, // the index has no more candidates
		{"", "spec.nodeName=n2", "", 1, []string{"ns/c"}, false},
		{"", "spec.nodeName=n1", "", 1, []string{"ns/a"}, true},
	} {
		got := s.Chunk(selecting(t, "ns", c.labels, c.fields), c.from, c.limit)
		equal(t, fmt.Sprintf("objects of %+v", c), keys(slices.Collect(flat(slices.Values(got.Runs)))), c.want)
		equal(t, fmt.Sprintf("more of %+v", c), got.More, c.more)
	}
}

// TestChunkOfAnyLimit: a limit above the number of objects is like none.
func TestChunkOfAnyLimit(t *testing.T) {
	var objects []*Object
	for i := range 2 * fill {
		objects = append(objects, pod(fmt.Sprintf("ns/%04d", i), RV(i+1), "n", "x"))
	}
	s := current(t, newTestLane(t, Options{}, RV(len(objects)), objects...))
	for _, limit := range []int{len(objects), len(objects) + 1, math.MaxInt - 1, math.MaxInt} {
		// From the middle of a page, the index of the first object counts, too.
		chunk := s.Chunk(selecting(t, "", "", ""), objects[3].Key(), limit)
		if chunk.Len != len(objects)-3 || chunk.More || chunk.Last() != objects[len(objects)-1] {
			t.Errorf("limit %d: got %d objects, More %t", limit, chunk.Len, chunk.More)
		}
	}
}

// TestBytes: Bytes is the sum of the items, whichever pages were counted before and whatever was written since.
func TestBytes(t *testing.T) {
	var objects []*Object
	for i := range 1000 {
		objects = append(objects, pod(fmt.Sprintf("ns%d/p%d", i%10, i), 1, fmt.Sprint("n", i%100), ""))
	}
	lane := newTestLane(t, podOptions, 1, objects...)
	spans := []Span{{}, {Prefix: "ns3/"}, {Prefix: "ns3/", From: "ns3/p5"}, {From: "ns8/p"}, {Prefix: "none/"}, {From: "zz"}}
	for rv := RV(2); rv < 300; rv++ {
		o := pod(fmt.Sprintf("ns%d/p%d", rv%10, rv*7%1100), rv, strings.Repeat("n", int(rv)), "")
		kind := Upsert
		if rv%3 == 0 {
			kind = Delete
		}
		if err := lane.Apply(Change{Kind: kind, Object: o}); err != nil {
			t.Fatal(err)
		}
		s := current(t, lane)
		for _, span := range spans {
			want := int64(0)
			for o := range s.Objects(span) {
				want += int64(o.Item().Size())
			}
			equal(t, fmt.Sprintf("bytes of %+v at %d", span, rv), s.Bytes(span), want)
		}
		chunk := s.Chunk(selecting(t, "ns4", "", ""), "", 20)
		equal(t, "bytes of a chunk", chunk.Bytes(), itemBytes(slices.Collect(flat(slices.Values(chunk.Runs)))))
	}
}
