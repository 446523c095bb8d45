package item

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// object returns one of many similar objects of about 3 kB.
func object(i int) Item {
	random := rand.New(rand.NewSource(int64(i)))
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"metadata":{"name":"pod-%d","uid":"%x"},"spec":{"containers":[`, i, random.Uint64())
	for c := range 8 {
		fmt.Fprintf(&b, `{"name":"container-%d","image":"registry.example.com/team/application-%d:v1","resources":{"limits":{"cpu":"%dm"}}},`, c, random.Intn(20), random.Intn(1000))
	}
	b.WriteString(strings.Repeat(`{"type":"Ready","status":"True","lastTransitionTime":null},`, 20) + `]}}`)
	return New(b.Bytes(), Marks{Object: uint32(b.Len()), Cells: uint32(b.Len())})
}

func objects(from, to int) []*Item {
	var items []*Item
	for i := from; i < to; i++ {
		it := object(i)
		items = append(items, &it)
	}
	return items
}

func TestPackedItemsAreTheSame(t *testing.T) {
	d, err := NewDictionary(objects(0, 200))
	if err != nil {
		t.Fatal(err)
	}
	p, plain, kept := d.Packer(), 0, 0
	for _, it := range objects(200, 400) {
		packed := p.Pack(it)
		plain, kept = plain+it.Memory(), kept+packed.Memory()
		if !packed.Packed() || packed.Size() != it.Size() || *MarksOf(&packed) != *MarksOf(it) {
			t.Fatalf("got packed=%v with %d bytes, want packed with %d", packed.Packed(), packed.Size(), it.Size())
		}
		if got := Append([]byte("before"), &packed); string(got) != "before"+string(it.data) {
			t.Fatalf("appended %q, want %q after the prefix", got, it.data)
		}
		open := Open(&packed)
		if !bytes.Equal(open.Data(), it.data) {
			t.Fatalf("opened %q, want %q", open.Data(), it.data)
		}
		open.Close()
		if again := p.Pack(&packed); &again.data[0] != &packed.data[0] {
			t.Fatal("a packed item was packed again")
		}
	}
	if kept*5 > plain {
		t.Errorf("got %d packed bytes from %d, want less than a fifth", kept, plain)
	}
}

// SameObject ignores the bytes after the object, and how the items are packed.
func TestSameObject(t *testing.T) {
	d, err := NewDictionary(objects(0, 200))
	if err != nil {
		t.Fatal(err)
	}
	p, one, other := d.Packer(), object(300), object(301)
	aged := New(append(bytes.Clone(one.data), `["5d"]`...), Marks{Object: one.marks.Object, Cells: one.marks.Object + 6})
	longer := New(append(bytes.Clone(one.data), ' '), Marks{Object: one.marks.Object + 1, Cells: one.marks.Object + 1})
	packed, packedAged := p.Pack(&one), p.Pack(&aged)
	for _, same := range []*Item{&one, &aged, &packed, &packedAged} {
		if !one.SameObject(same) || !packed.SameObject(same) || !same.SameObject(&one) || !same.SameObject(&packedAged) {
			t.Error("SameObject is false for the same object")
		}
		if same.SameObject(&other) || same.SameObject(&longer) || longer.SameObject(same) {
			t.Error("SameObject is true for another object")
		}
	}
}

// TestBlocks lays items into blocks and drops most of them.
func TestBlocks(t *testing.T) {
	d, err := NewDictionary(objects(0, 200))
	if err != nil {
		t.Fatal(err)
	}
	p, items := d.Packer(), objects(200, 1400)
	laid, blocks := make([]Item, len(items)), map[*block]int{}
	for i, it := range items {
		laid[i] = p.Lay(it)
		same(t, &laid[i], it)
		blocks[laid[i].by] += laid[i].Memory()
		if again := p.Lay(&laid[i]); &again.data[0] != &laid[i].data[0] {
			t.Fatal("a packed item was laid again")
		}
	}
	first := laid[0].by
	if full := blocks[first]; len(blocks) < 2 || full > BlockSize || full < BlockSize-blockMost {
		t.Fatalf("got %d blocks, %d bytes in the first", len(blocks), full)
	}
	reports, dropped := 0, 0
	for i := range laid {
		if laid[i].by != first || i%2 == 0 {
			continue
		}
		dropped += laid[i].Memory()
		if laid[i].Leave() {
			reports++
		}
		if laid[0].Sparse() != (dropped > sparse) {
			t.Fatalf("got sparse=%v after %d dropped bytes", laid[0].Sparse(), dropped)
		}
	}
	if reports != 1 || laid[len(laid)-1].Sparse() {
		t.Errorf("got %d reports of a sparse block, want 1; last block is sparse: %v", reports, laid[len(laid)-1].Sparse())
	}
	for name, moved := range map[string]Item{"moved": p.Move(&laid[0]), "alone": laid[0].Alone()} {
		same(t, &moved, items[0])
		if moved.by == first || moved.Sparse() || !moved.Packed() || &moved.data[0] == &laid[0].data[0] {
			t.Errorf("%s: the item was not moved", name)
		}
	}
	alone := p.Pack(items[0])
	if again := alone.Alone(); &again.data[0] != &alone.data[0] || alone.Leave() || alone.Sparse() {
		t.Error("an item with its own memory is in a block")
	}
}

// An item that is packed with another dictionary keeps that dictionary when it moves.
func TestMoveKeepsDictionary(t *testing.T) {
	one, err := NewDictionary(objects(0, 100))
	if err != nil {
		t.Fatal(err)
	}
	two, err := NewDictionary(objects(100, 200))
	if err != nil {
		t.Fatal(err)
	}
	it := object(300)
	packed := one.Packer().Lay(&it)
	moved := two.Packer().Move(&packed)
	same(t, &moved, &it)
	if moved.Sparse() || moved.by == packed.by {
		t.Error("the item was not moved")
	}
}

// same checks that two items have the same content.
func same(t *testing.T, got, want *Item) {
	t.Helper()
	if text := Append(nil, got); !bytes.Equal(text, want.data) || *MarksOf(got) != *MarksOf(want) {
		t.Fatalf("got %q, want %q", text, want.data)
	}
}

// Items without similarity to the dictionary or repetition are not packed.
func TestIncompressibleItemsAreNotPacked(t *testing.T) {
	d, err := NewDictionary(objects(0, 200))
	if err != nil {
		t.Fatal(err)
	}
	random, noise := rand.New(rand.NewSource(1)), make([]byte, 5000)
	for i := range noise {
		noise[i] = byte(random.Intn(256))
	}
	p, it := d.Packer(), New(noise, Marks{})
	if packed := p.Pack(&it); packed.Packed() || packed.Memory() != len(noise) {
		t.Errorf("got %d bytes of %d, packed=%v, want unpacked", packed.Memory(), len(noise), packed.Packed())
	}
	if nothing := p.Pack(new(Item)); nothing.Packed() {
		t.Error("the zero Item was packed")
	}
	if _, err := NewDictionary(nil); !errors.Is(err, ErrUnlike) {
		t.Errorf("dictionary without samples: got %v, want ErrUnlike", err)
	}
}

// TestLargeItems makes dictionaries of objects of all sizes that etcd accepts, and packs the objects.
func TestLargeItems(t *testing.T) {
	sizes := []int{120 << 10, 130 << 10, 1 << 20, 60 << 10, 200 << 10, 300 << 10, 3 << 19}
	for _, size := range sizes[:settings.Amount(2, len(sizes))] {
		for name, content := range map[string]func(*rand.Rand) byte{
			"noise": func(r *rand.Rand) byte { return byte(r.Intn(256)) }, "base64": func(r *rand.Rand) byte { return 'A' + byte(r.Intn(64)) },
			"text": func(r *rand.Rand) byte { return "some text "[r.Intn(10)] },
		} {
			random := rand.New(rand.NewSource(int64(size)))
			var items []*Item
			for range 8 {
				data := make([]byte, size)
				for i := range data {
					data[i] = content(random)
				}
				items = append(items, new(New(data, Marks{})))
			}
			d, err := NewDictionary(items)
			if err != nil {
				t.Errorf("%d bytes of %s: %v", size, name, err)
				continue
			}
			packed := d.Packer().Pack(items[0])
			if got := Append(nil, &packed); !bytes.Equal(got, items[0].data) {
				t.Errorf("%d bytes of %s changed by packing", size, name)
			}
		}
	}
}

// TestDictionariesAreShared packs and reads in several goroutines, for the race detector.
func TestDictionariesAreShared(t *testing.T) {
	d, err := NewDictionary(objects(0, 100))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for from := 0; from < 400; from += 100 {
		all.Go(func() {
			p := d.Packer()
			for _, it := range objects(from, from+100) {
				packed := p.Pack(it)
				open := Open(&packed)
				if !bytes.Equal(open.Data(), it.data) {
					t.Errorf("opened %q, want %q", open.Data(), it.data)
				}
				open.Close()
			}
		})
	}
	all.Wait()
}

// noisy returns an object with n bytes of that many different values after it. Entropy coding shrinks few values.
func noisy(n, values int) Item {
	random, b := rand.New(rand.NewSource(1)), object(1).data
	for range n {
		b = append(b, byte(random.Intn(values)))
	}
	return New(b, Marks{})
}

func TestEntropyCodingIsSkippedWhileUseless(t *testing.T) {
	d, err := NewDictionary(objects(0, 200))
	if err != nil {
		t.Fatal(err)
	}
	p, useless, useful := d.Packer(), noisy(600, 256), noisy(2000, 10)
	best := d.Packer().Pack(&useful)
	tries := func(it *Item, n int) (tried int) {
		for range n {
			p.buffers[denseLiterals] = nil
			if p.Pack(it); p.buffers[denseLiterals] != nil {
				tried++
			}
		}
		return tried
	}
	if got := tries(&useless, enoughTries+2*(mostSkipped+1)); got != enoughTries+2 {
		t.Errorf("entropy coding was tried for %d similar objects, want %d", got, enoughTries+2)
	}
	// One of the next objects tries it. It helps, and all that follow try it again.
	tries(&useful, mostSkipped+1)
	if got := tries(&useful, 2*mostSkipped); got != 2*mostSkipped {
		t.Errorf("entropy coding was tried for %d of %d objects that it helps", got, 2*mostSkipped)
	}
	if packed := p.Pack(&useful); packed.Memory() != best.Memory() {
		t.Errorf("got %d bytes, want %d", packed.Memory(), best.Memory())
	}
}

// An object that is not worth packing otherwise does not skip it.
func TestEntropyCodingIsTriedForDataThatHardlyShrinks(t *testing.T) {
	d, err := NewDictionary(objects(0, 200))
	if err != nil {
		t.Fatal(err)
	}
	p, useless, numbers := d.Packer(), noisy(600, 256), noisy(30_000, 10)
	for range enoughTries + 1 {
		p.Pack(&useless)
	}
	if packed := p.Pack(&numbers); !packed.Packed() {
		t.Error("an object that entropy coding shrinks was not packed")
	}
}

// phrases returns an item of phrases that many items share. The fast level finds only parts of a phrase, because six
// letters of it are in other phrases, too.
func phrases(i int) *Item {
	random := rand.New(rand.NewSource(int64(i)))
	var b []byte
	for range 80 {
		phrase := rand.New(rand.NewSource(int64(random.Intn(300))))
		for range 40 {
			b = append(b, 'a'+byte(phrase.Intn(4)))
		}
	}
	return new(New(b, Marks{}))
}

func TestFastLevelIsUsedUnlessItemsBecomeLarger(t *testing.T) {
	var items []*Item
	for i := range 100 {
		items = append(items, phrases(i))
	}
	for what, test := range map[string]struct {
		items []*Item
		want  zstd.EncoderLevel
	}{"objects": {objects(0, 200), fastLevel}, "phrases": {items, usualLevel}} {
		d, err := NewDictionary(test.items)
		if err != nil {
			t.Fatal(err)
		}
		if d.level != test.want {
			t.Errorf("%s: got level %s, want %s", what, d.level, test.want)
		}
	}
}

func BenchmarkPack(b *testing.B) {
	d, err := NewDictionary(objects(0, 200))
	if err != nil {
		b.Fatal(err)
	}
	it := object(1000)
	b.SetBytes(int64(it.Size()))
	b.ReportAllocs()
	p := d.Packer()
	for b.Loop() {
		p.Pack(&it)
	}
}

func BenchmarkOpen(b *testing.B) {
	d, err := NewDictionary(objects(0, 200))
	if err != nil {
		b.Fatal(err)
	}
	it := object(1000)
	packed := d.Packer().Pack(&it)
	b.SetBytes(int64(it.Size()))
	b.ReportAllocs()
	for b.Loop() {
		open := Open(&packed)
		open.Close()
	}
}

func FuzzPack(f *testing.F) {
	d, err := NewDictionary(objects(0, 100))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"metadata":{"name":"pod-1"}}`))
	f.Add(object(1).data)
	f.Fuzz(func(t *testing.T, data []byte) {
		it := New(data, Marks{})
		packed := d.Packer().Pack(&it)
		if got := Append(nil, &packed); !bytes.Equal(got, data) {
			t.Errorf("got %q, want %q", got, data)
		}
	})
}
