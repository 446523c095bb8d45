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
	// dictionaryHistory is how many bytes of samples a dictionary has at the most. Of pods of 15 kB it holds four,
	// whole: twice as much makes them 1 % smaller, half as much 2 % larger.
	dictionaryHistory = 64 << 10
	// longestSample is how many bytes of a sample its tables are made of: as many as a block of zstd has. The library
	// panics at samples that are twice as long.
	longestSample = 128 << 10
	// mostSamples is about how many bytes a dictionary is made of: they are held unpacked meanwhile.
	mostSamples = 4 << 20
	// window is how far back in bytes an encoder looks, and about what it holds: nearly all objects are smaller.
	window = 256 << 10
	// dictionaryID is in each packed item. An item names its dictionary by a pointer, so that all have the same.
	dictionaryID = 1
	// level is what items are packed at. The one below makes pods a seventh larger in two thirds of the time, the one
	// above a tenth smaller in four times as much.
	level = zstd.SpeedDefault
)

// ErrUnlike says that samples have nothing in common from which a dictionary could be made.
var ErrUnlike = errors.New("no dictionary can be made of the samples")

// Dictionary is what items are packed against: what objects of a kind have in common. Immutable; safe for concurrent
// use. It lives as long as an item that was packed against it.
type Dictionary struct {
	bytes    []byte
	encoding zstd.EOption
	decoding zstd.DOption
	// decoders are made when they are needed, and dropped by the garbage collector when they are not for a while: each
	// takes 200 kB.
	decoders sync.Pool
	alone    block // of all items that have memory of their own
}

// NewDictionary makes a dictionary of some hundred items of a kind. It fails with ErrUnlike.
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
	d.alone.dictionary = d
	if _, err := d.encoder(plainLiterals); err != nil || len(contents) == 0 {
		return nil, errors.Join(ErrUnlike, err)
	}
	return d, nil
}

// dictionaryOf is a dictionary with tables made for the contents. Where nothing is left of them beside the history
// there is nothing to make tables of, and the history is the dictionary.
func dictionaryOf(contents [][]byte) *Dictionary {
	history := historyOf(contents)
	made, err := tablesOf(contents, history)
	if err != nil {
		return &Dictionary{
			bytes: history, encoding: zstd.WithEncoderDictRaw(dictionaryID, history), decoding: zstd.WithDecoderDictRaw(dictionaryID, history),
		}
	}
	return &Dictionary{bytes: made, encoding: zstd.WithEncoderDict(made), decoding: zstd.WithDecoderDicts(made)}
}

// tablesOf makes tables for contents. The library has panicked at samples that it did not expect; what users write into
// objects must not end the process.
func tablesOf(contents [][]byte, history []byte) (made []byte, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("%w: %v", ErrUnlike, why)
		}
	}()
	return zstd.BuildDict(zstd.BuildDictOptions{
		ID: dictionaryID, Contents: contents, History: history, Offsets: [3]int{1, 4, 8}, Level: level,
	})
}

// historyOf is as many of the samples as there is room for, by chance: neighbours are too much alike. The chances are
// the same each time.
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

// Memory is how many bytes the dictionary takes, without what packs and unpacks.
func (d *Dictionary) Memory() int { return len(d.bytes) }

// literals says how an encoder writes what stands neither in the dictionary nor before it in the item.
type literals int

const (
	plainLiterals literals = iota // as they are: pods are a third larger, and are unpacked in two thirds of the time
	denseLiterals                 // in fewer bits
)

func (d *Dictionary) encoder(l literals) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, d.encoding, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
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

// unpack appends the bytes of an item that was packed against the dictionary.
func (d *Dictionary) unpack(dst []byte, it *Item) []byte {
	decoder, err := d.decoder()
	if err == nil {
		before := len(dst)
		dst, err = decoder.DecodeAll(it.data, dst)
		if err == nil && len(dst)-before != int(it.size) {
			err = fmt.Errorf("%d bytes instead of %d", len(dst)-before, it.size)
		}
	}
	if err != nil {
		panic("BUG: an object that was packed cannot be unpacked: " + err.Error())
	}
	d.decoders.Put(decoder)
	return dst
}
