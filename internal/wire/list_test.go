package wire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// pieceSize is the size in bytes of a list's writes, and of the largest body that is not compressed.
const pieceSize = 128 << 10

// sizes records the size of each write.
type sizes []int

func (s *sizes) Write(p []byte) (int, error) { *s = append(*s, len(p)); return len(p), nil }

var (
	builtin = jsonwire.Encoding{}.Shape(wire.Description{})
	listed  = wire.Representation{Kind: wire.Listed}
)

func itemOf(t testing.TB, text string) wire.Item {
	t.Helper()
	object := []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1"},"x":"` + text + `"}`)
	item, _, err := jsonwire.NewExtractor(nil).Scan(jsonwire.Row{Object: object})
	if err != nil {
		t.Fatal(err)
	}
	return item
}

// page is a page of items.
type page []wire.Item

func (p page) Len() int                               { return len(p) }
func (p page) Item(at int) *wire.Item                 { return &p[at] }
func (p page) Precompressed() *wire.PrecompressedPage { return nil }

// runs yields the given runs.
func runs(parts ...wire.Run) iter.Seq[wire.Run] {
	return func(yield func(wire.Run) bool) {
		for _, part := range parts {
			if !yield(part) {
				return
			}
		}
	}
}

// listOf returns a list of runs.
func listOf(parts ...wire.Run) wire.List {
	return wire.List{Shape: builtin, Representation: listed, Runs: runs(parts...)}
}

func whole(p page) wire.Run { return wire.Run{Page: p, To: len(p)} }

func TestListsAreWrittenInLargePieces(t *testing.T) {
	var writes sizes
	small := make(page, 1000)
	for i := range small {
		small[i] = itemOf(t, strings.Repeat("s", 1000))
	}
	large := page{itemOf(t, strings.Repeat("l", 3<<20))}
	body := wire.NewBody(&writes, wire.BodyOptions{})
	if err := body.WriteList(listOf(whole(small), whole(large))); err != nil {
		t.Fatal(err)
	}
	if len(writes) < 3 {
		t.Fatalf("got %d writes of 4 MB, want at least 3", len(writes))
	}
	for _, n := range writes[:len(writes)-1] {
		if n < pieceSize {
			t.Errorf("got a write of %d bytes before the end, want at least %d", n, pieceSize)
		}
	}
}

// The list does not depend on the distribution of its items over pages and runs.
func TestListsDoNotDependOnPages(t *testing.T) {
	a, b, c, d := itemOf(t, "a"), itemOf(t, "b"), itemOf(t, "c"), itemOf(t, "d")
	for name, test := range map[string]struct {
		runs iter.Seq[wire.Run]
		want string
	}{
		"no run":     {runs(), ""},
		"empty runs": {runs(wire.Run{Page: page{a}}, wire.Run{Page: page{a, b}, From: 1, To: 1}), ""},
		"one page":   {runs(whole(page{b, c})), "bc"},
		"two pages":  {runs(whole(page{b}), whole(page{c})), "bc"},
		"parts":      {runs(wire.Run{Page: page{a, b}, From: 1, To: 2}, wire.Run{Page: page{c, d}, To: 1}), "bc"},
		"in between": {runs(wire.Run{Page: page{a, b, c, d}, From: 1, To: 3}), "bc"},
	} {
		var got bytes.Buffer
		if err := wire.NewBody(&got, wire.BodyOptions{}).WriteList(wire.List{Shape: builtin, Representation: listed, Runs: test.runs}); err != nil {
			t.Fatal(err)
		}
		var list struct{ Items []struct{ X string } }
		if err := json.Unmarshal(got.Bytes(), &list); err != nil {
			t.Fatalf("%s: %s: %v", name, got.Bytes(), err)
		}
		text := ""
		for _, it := range list.Items {
			text += it.X
		}
		if text != test.want || list.Items == nil {
			t.Errorf("%s: got %s, want the items %q", name, got.Bytes(), test.want)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestBodiesReturnWriteErrors(t *testing.T) {
	gone := errors.New("the client is gone")
	w := failing{gone}
	big := page{itemOf(t, strings.Repeat("x", pieceSize))}
	body := func() *wire.Body {
		return wire.NewBody(w, wire.BodyOptions{Announce: func() { t.Error("compression was announced for a small body") }})
	}
	small := wire.NewBody(w, wire.BodyOptions{AcceptEncoding: "gzip"})
	if _, err := small.Write([]byte("x")); err != nil {
		t.Errorf("buffered write: got %v, want no error", err)
	}
	indenter := wire.NewIndenter(w)
	_, indented := indenter.Write(bytes.Repeat([]byte("[1]"), pieceSize))
	_, written := body().Write([]byte("x"))
	for name, err := range map[string]error{
		"an item":   body().WriteList(listOf(whole(big))),
		"the end":   body().WriteList(listOf()),
		"an object": body().WriteObject(builtin, wire.Representation{}, &big[0]), "Close": small.Close(),
		"WriteMember": wire.WriteMember(w, []byte("x")), "Indenter": indented, "Write": written,
	} {
		if !errors.Is(err, gone) {
			t.Errorf("%s: got %v, want %v", name, err, gone)
		}
	}
}

// incompressible returns text that is more than half as long when compressed, and is compressed in a list.
func incompressible() string {
	random := make([]byte, pieceSize)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random) // never fails
	return base64.StdEncoding.EncodeToString(random)[:pieceSize]
}

// keeping is a writer that fails and, as HTTP/2 may, still reads what it was given.
type keeping struct{ given [][]byte }

func (k *keeping) Write(p []byte) (int, error) {
	k.given = append(k.given, p)
	return 0, errors.New("the stream was reset")
}

// A buffer that the writer of a failed response may still read is not used for another response.
func TestBuffersOfFailedResponsesAreNotReused(t *testing.T) {
	const secret = "secret"
	others := listOf(whole(page{itemOf(t, strings.Repeat(secret, pieceSize))}))
	for name, o := range map[string]wire.BodyOptions{"plain": {}, "gzip": {AcceptEncoding: "gzip", Announce: func() {}}} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // a pool may drop a buffer
				var failed keeping
				body := wire.NewBody(&failed, o)
				list := listOf(whole(page{itemOf(t, "x")}))
				if name == "gzip" {
					list = listOf(whole(page{itemOf(t, incompressible())}))
				}
				if err := errors.Join(body.WriteList(list), body.Close()); err == nil {
					t.Fatal("got no error")
				}
				var before [][]byte
				for _, p := range failed.given {
					before = append(before, bytes.Clone(p))
				}
				other := wire.NewBody(io.Discard, o)
				if err := errors.Join(other.WriteList(others), other.Close()); err != nil {
					t.Fatal(err)
				}
				for i, p := range failed.given {
					if !bytes.Equal(p, before[i]) {
						t.Fatal("another response changed the buffer of a failed response")
					}
				}
			}
		})
	}
}

// The number of allocations for a list does not depend on the number of its items.
func TestItemsAreWrittenWithoutAllocating(t *testing.T) {
	many := make(page, 1000)
	for i := range many {
		many[i] = itemOf(t, "x")
	}
	one, all := runs(whole(many[:1])), runs(whole(many))
	write := func(list iter.Seq[wire.Run]) func() {
		return func() {
			_ = wire.NewBody(io.Discard, wire.BodyOptions{}).WriteList(wire.List{Shape: builtin, Representation: listed, Runs: list})
		}
	}
	if one, all := testing.AllocsPerRun(100, write(one)), testing.AllocsPerRun(100, write(all)); all > one {
		t.Errorf("got %v allocations for a list of 1000 items, want %v as for one", all, one)
	}
}

func TestListTextIsValidJSON(t *testing.T) {
	remaining := int64(3)
	for _, custom := range []bool{false, true} {
		var b bytes.Buffer
		shape := jsonwire.Encoding{}.Shape(wire.Description{Custom: custom})
		meta := wire.ListMeta{ResourceVersion: "1", Continue: "t", RemainingItemCount: &remaining}
		if err := wire.NewBody(&b, wire.BodyOptions{}).WriteList(wire.List{Shape: shape, Representation: listed, Meta: meta, Runs: runs()}); err != nil {
			t.Fatal(err)
		}
		var got struct{ Metadata wire.ListMeta }
		if err := json.Unmarshal(b.Bytes(), &got); err != nil || *got.Metadata.RemainingItemCount != 3 || got.Metadata.Continue != "t" {
			t.Errorf("%s: %v", b.Bytes(), err)
		}
	}
}
