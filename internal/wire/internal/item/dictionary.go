package item

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// dictionaryHistory is the maximum size in bytes of the samples in a dictionary: four pods of 15 kB. Twice the size
	// makes packed pods 1 % smaller, half the size 2 % larger.
	dictionaryHistory = 64 << 10
	// longestSample is the maximum number of bytes that are taken from a sample: one zstd block. The library panics for
	// samples of twice this length.
	longestSample = 128 << 10
	// mostSamples is the approximate maximum of the total size of the samples, in bytes. All of them are in memory at the
	// same time.
	mostSamples = 4 << 20
	// window is the size in bytes of an encoder's window. Most objects are smaller than the window.
	window = 256 << 10
	// dictionaryID is the zstd dictionary ID in each packed item. All dictionaries have the same ID, because an item
	// refers to its dictionary by pointer.
	dictionaryID = 1
	// usualLevel is the compression level if fastLevel makes items too large. The next higher level makes pods in JSON a
	// tenth smaller in four times the time.
	usualLevel = zstd.SpeedDefault
	// fastLevel takes half the time of usualLevel, which spends much time on resetting tables. fastLevel makes pods a
	// seventh larger in JSON, and 3 % larger in protobuf.
	fastLevel = zstd.SpeedFastest
	// mostLarger is the maximum by which fastLevel may make items larger, as a fraction of their packed size.
	mostLarger = 0.05
	compared   = 50
)

// ErrUnlike is returned when the samples have nothing in common from which a dictionary can be made.
var ErrUnlike = errors.New("cannot make a dictionary from the samples")

// Dictionary is a zstd dictionary with the content that objects of a kind have in common. It stays in memory until its
// last item is dropped. Immutable; safe for concurrent use.
type Dictionary struct {
	bytes    []byte
	tables   bool // whether bytes contains entropy tables, or only samples
	encoding zstd.EOption
	decoding zstd.DOption
	level    zstd.EncoderLevel
	// decoders are created on demand. The garbage collector frees idle decoders. Each takes 200 kB.
	decoders sync.Pool
	alone    block // block of all items that have their own memory
}

// NewDictionary makes a dictionary from a few hundred items of a kind. It fails with ErrUnlike.
func NewDictionary(samples []*Item) (*Dictionary, error) {
	contents, total := make([][]byte, 0, len(samples)), 0
	for _, sample := range samples {
		open := Open(sample)
		contents = append(contents, bytes.Clone(open.Data()[:min(len(open.Data()), longestSample)]))
		open.Close()
		if total += len(contents[len(contents)-1]); total > mostSamples {
			break
		}
	}
	d := dictionaryOf(contents)
	d.level = d.levelFor(contents)
	if _, err := d.encoder(plainLiterals); err != nil || len(contents) == 0 {
		return nil, errors.Join(ErrUnlike, err)
	}
	return d, nil
}

func (d *Dictionary) levelFor(contents [][]byte) zstd.EncoderLevel {
	usual, fast := d.sizeAt(usualLevel, contents), d.sizeAt(fastLevel, contents)
	if float64(fast) <= float64(usual)*(1+mostLarger) {
		return fastLevel
	}
	return usualLevel
}

func (d *Dictionary) sizeAt(level zstd.EncoderLevel, contents [][]byte) (size int) {
	p := (&Dictionary{bytes: d.bytes, encoding: d.encoding, level: level}).Packer()
	for i := 0; i < len(contents); i += max(1, len(contents)/compared) {
		size += len(p.encode(contents[i], plainLiterals))
	}
	return size
}

// dictionaryOf returns a dictionary with entropy tables for the contents. If no tables can be made, the dictionary has
// only samples.
func dictionaryOf(contents [][]byte) *Dictionary {
	history := historyOf(contents)
	made, err := tablesOf(contents, history)
	if err != nil {
		return newDictionary(history, false)
	}
	return newDictionary(made, true)
}

func newDictionary(content []byte, tables bool) *Dictionary {
	d := &Dictionary{bytes: content, tables: tables, level: usualLevel}
	d.encoding, d.decoding = zstd.WithEncoderDictRaw(dictionaryID, content), zstd.WithDecoderDictRaw(dictionaryID, content)
	if tables {
		d.encoding, d.decoding = zstd.WithEncoderDict(content), zstd.WithDecoderDicts(content)
	}
	d.alone.dictionary = d
	return d
}

// tablesOf makes a dictionary with entropy tables. It recovers from panics of the library, because the objects of a
// user must not end the process.
func tablesOf(contents [][]byte, history []byte) (made []byte, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("%w: %v", ErrUnlike, why)
		}
	}()
	return zstd.BuildDict(zstd.BuildDictOptions{
		ID: dictionaryID, Contents: contents, History: history, Offsets: [3]int{1, 4, 8}, Level: usualLevel,
	})
}

// historyOf returns samples of at most dictionaryHistory bytes. Their order is random, because neighbouring samples are
// too similar. The order is the same in each call.
func historyOf(contents [][]byte) []byte {
	var history []byte
	for _, i := range rand.New(rand.NewPCG(dictionaryID, dictionaryHistory)).Perm(len(contents)) {
		if len(history) >= dictionaryHistory {
			break
		}
		history = append(history, contents[i]...)
	}
	return history[:min(len(history), dictionaryHistory)]
}

// Memory returns the size of the dictionary in bytes, without encoders and decoders.
func (d *Dictionary) Memory() int { return len(d.bytes) }

// literals says how an encoder writes data that occurs neither in the dictionary nor earlier in the item.
type literals int

const (
	plainLiterals literals = iota // uncompressed: pods become a third larger, but are unpacked in two thirds of the time
	denseLiterals                 // entropy coded
)

func (d *Dictionary) encoder(l literals) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, d.encoding, zstd.WithEncoderLevel(d.level), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(window), zstd.WithNoEntropyCompression(l == plainLiterals))
}

func (d *Dictionary) decoder() (*zstd.Decoder, error) {
	if decoder, ok := d.decoders.Get().(*zstd.Decoder); ok {
		return decoder, nil
	}
	return zstd.NewReader(nil, d.decoding, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(1<<32))
}

func (d *Dictionary) unpack(dst []byte, it *Item) []byte {
	decoder, err := d.decoder()
	if err == nil {
		before := len(dst)
		dst, err = decoder.DecodeAll(it.data, dst)
		if err == nil && len(dst)-before != int(it.size) {
			err = fmt.Errorf("unpacked size is %d bytes, want %d", len(dst)-before, it.size)
		}
	}
	if err != nil {
		panic("BUG: unpack object: " + err.Error())
	}
	d.decoders.Put(decoder)
	return dst
}
