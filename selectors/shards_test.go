package selectors_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/selectors"
)

// shardCase is an answer of kube-apiserver's parser (k8s.io/apiserver/pkg/sharding).
type shardCase struct {
	Selector string
	Parsed   string // the selector as kube-apiserver prints it
	Error    string
	Syntax   bool // whether the error is one of its CEL parser
}

func shardCases(t testing.TB) (cases []shardCase) {
	t.Helper()
	text, err := os.ReadFile("testdata/shards.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &cases)
	}
	if err != nil || len(cases) == 0 {
		t.Fatalf("read %d cases: %v", len(cases), err)
	}
	return cases
}

// TestShardsAreParsedAsByUpstream compares the parser with answers of kube-apiserver's.
func TestShardsAreParsedAsByUpstream(t *testing.T) {
	for _, c := range shardCases(t) {
		shards, err := selectors.ParseShards(c.Selector)
		var syntax *selectors.ShardSyntaxError
		var invalid *selectors.InvalidError
		switch {
		case c.Syntax:
			if !errors.As(err, &syntax) {
				t.Errorf("%q: got %v, want a syntax error", c.Selector, err)
			}
		case c.Error != "":
			if !errors.As(err, &invalid) || err.Error() != "invalid shard selector: "+c.Error {
				t.Errorf("%q: got %v, want %s", c.Selector, err, c.Error)
			}
		case err != nil:
			t.Errorf("%q: got %v, want none", c.Selector, err)
		case shards.String() != c.Parsed:
			t.Errorf("%q: got %s, want %s", c.Selector, shards, c.Parsed)
		}
	}
}

// FuzzParseShards: the parser accepts each selector that it prints, and never fails in another way than described.
func FuzzParseShards(f *testing.F) {
	for _, c := range shardCases(f) {
		f.Add(c.Selector)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shards, err := selectors.ParseShards(text)
		var syntax *selectors.ShardSyntaxError
		var invalid *selectors.InvalidError
		switch {
		case errors.As(err, &syntax) || errors.As(err, &invalid):
			return
		case err != nil:
			t.Fatalf("%q: got %v", text, err)
		case shards == nil:
			if text != "" {
				t.Fatalf("%q: got no shards", text)
			}
			return
		}
		again, err := selectors.ParseShards(shards.String())
		if err != nil || again.String() != shards.String() {
			t.Fatalf("%q: printed as %q, which parses as %v, %v", text, shards, again, err)
		}
		if checkRanges(shards.Ranges()) != nil {
			t.Fatalf("%q: %v", text, checkRanges(shards.Ranges()))
		}
	})
}

// checkRanges returns an error if the ranges are not sorted, or overlap or touch.
func checkRanges(ranges []selectors.HashRange) error {
	for i, r := range ranges {
		if r.First > r.Last || i > 0 && (ranges[i-1].Last >= r.First || ranges[i-1].Last+1 == r.First) {
			return fmt.Errorf("%x is not merged or sorted", ranges)
		}
	}
	return nil
}

// shardsOf parses a selector.
func shardsOf(t testing.TB, text string) *selectors.Shards {
	t.Helper()
	shards, err := selectors.ParseShards(text)
	if err != nil {
		t.Fatal(err)
	}
	return shards
}

// randomShards returns a selector of a few ranges, often at a boundary of the hash space or at a hash.
func randomShards(r *rand.Rand, hashes []string) (requirements []sharding.ShardRangeRequirement) {
	key := []string{"object.metadata.uid", "object.metadata.namespace"}[r.IntN(2)]
	bound := func() string {
		switch r.IntN(4) {
		case 0:
			return fmt.Sprintf("0x%016x", uint64(r.IntN(4))<<62)
		case 1:
			return "0x" + hashes[r.IntN(len(hashes))]
		case 2:
			return "0x10000000000000000"
		default:
			return fmt.Sprintf("0x%016x", r.Uint64())
		}
	}
	for range 1 + r.IntN(4) {
		start, end := bound(), bound()
		if sharding.HexLess(end, start) {
			start, end = end, start
		}
		if start != end {
			requirements = append(requirements, sharding.ShardRangeRequirement{Key: key, Start: start, End: end})
		}
	}
	return requirements
}

// TestShardsMatchLikeApimachinery compares random selectors on random objects.
func TestShardsMatchLikeApimachinery(t *testing.T) {
	r := rand.New(rand.NewPCG(settings.Seed(t), 1))
	kind := selectors.ForBuiltin(configKind, selectors.Namespaced)
	var objects []*metav1.PartialObjectMetadata
	hashes := []string{sharding.HashField("")}
	for i := range 40 {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("o", i),
			Namespace: fmt.Sprint("ns-", i%7), UID: types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", r.Uint32(), r.Uint32()))}}
		objects = append(objects, o)
		hashes = append(hashes, sharding.HashField(string(o.UID)), sharding.HashField(o.Namespace))
	}
	for range settings.Amount(300, 3000) {
		reference := sharding.NewSelector(randomShards(r, hashes)...)
		if reference.Empty() {
			continue
		}
		shards := shardsOf(t, reference.String())
		if shards.String() != reference.String() {
			t.Fatalf("got %s, want %s", shards, reference)
		}
		if err := checkRanges(shards.Ranges()); err != nil {
			t.Fatalf("%s: %v", reference, err)
		}
		p := kind.Predicate("", nil, nil).Within(shards)
		if p.Everything() || !p.OnlyKeys() {
			t.Fatalf("%s: got everything: %t, only keys: %t", shards, p.Everything(), p.OnlyKeys())
		}
		for _, o := range objects {
			want, err := reference.Matches(o)
			if err != nil {
				t.Fatal(err)
			}
			a := attributes(kind, nil, fields.Set{"metadata.name": o.Name, "metadata.namespace": o.Namespace,
				"metadata.uid": string(o.UID)})
			if got := p.Matches(a); got != want {
				t.Fatalf("%s on %s/%s with UID %s: got %t, apimachinery says %t", reference, o.Namespace, o.Name, o.UID, got, want)
			}
			for requirement := range p.Requirements() {
				if requirement.Fulfilled(a) != want {
					t.Fatalf("%s: got a requirement that contradicts the result %t", reference, want)
				}
			}
		}
	}
}

// TestEqualShardsShareAText: watchers of the same shards share a feed, however they write the ranges. Other shards have
// other texts.
func TestEqualShardsShareAText(t *testing.T) {
	all := pods.Predicate("", nil, nil)
	text := func(selector string) string { return all.Within(shardsOf(t, selector)).String() }
	const low, middle = "shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000')",
		"shardRange(object.metadata.uid, '0x4000000000000000', '0x8000000000000000')"
	half := text("shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')")
	for _, same := range []string{low + "||" + middle, middle + " || " + low + "||" + low} {
		if got := text(same); got != half {
			t.Errorf("%s: got %s, want %s", same, got, half)
		}
	}
	other := []string{low, middle, strings.ReplaceAll(low, "uid", "namespace")}
	for i, selector := range other {
		if got := text(selector); got == half || i > 0 && got == text(other[i-1]) {
			t.Errorf("%s: got the text of other shards: %s", selector, got)
		}
	}
	if all.Within(nil) != all {
		t.Error("got another predicate without shards")
	}
}

// TestMatchingShardsAllocatesNothing: an event is compared with many watches.
func TestMatchingShardsAllocatesNothing(t *testing.T) {
	a := attributes(pods, nil, fields.Set{"metadata.name": "a", "metadata.namespace": "ns", "metadata.uid": "u"})
	for _, key := range []string{"uid", "namespace"} {
		p := pods.Predicate("", nil, nil).Within(shardsOf(t, "shardRange(object.metadata."+key+
			", '0x0000000000000000', '0x8000000000000000') || shardRange(object.metadata."+key+", '0xa000000000000000', '0xb000000000000000')"))
		if n := testing.AllocsPerRun(100, func() { p.Matches(a) }); n != 0 {
			t.Errorf("%s: got %v allocations, want none", key, n)
		}
	}
}
