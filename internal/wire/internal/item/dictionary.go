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
	// Both are made when they are needed, and dropped by the garbage collector when they are not for a while: an
	// encoder takes some 2 MB, a decoder 200 kB.
	encoders, decoders sync.Pool
}

// NewDictionary makes a dictionary of some hundred items of a kind. It fails with ErrUnlike.
func NewDictionary(samples []*Item) (*Dictionary, error) {
	contents := make([][]byte, 0, len(samples))
	for _, sample := range samples {
		contents = append(contents, Append(nil, sample))
	}
	d := dictionaryOf(contents)
	encoder, err := d.encoder()
	if err != nil || len(contents) == 0 {
		return nil, errors.Join(ErrUnlike, err)
	}
	d.encoders.Put(encoder)
	return d, nil
}

// dictionaryOf is a dictionary with tables made for the contents. Where nothing is left of them beside the history
// there is nothing to make tables of, and the history is the dictionary.
func dictionaryOf(contents [][]byte) *Dictionary {
	history := historyOf(contents)
	made, err := zstd.BuildDict(zstd.BuildDictOptions{
		ID: dictionaryID, Contents: contents, History: history, Offsets: [3]int{1, 4, 8}, Level: level,
	})
	if err != nil {
		return &Dictionary{
			bytes: history, encoding: zstd.WithEncoderDictRaw(dictionaryID, history), decoding: zstd.WithDecoderDictRaw(dictionaryID, history),
		}
	}
	return &Dictionary{bytes: made, encoding: zstd.WithEncoderDict(made), decoding: zstd.WithDecoderDicts(made)}
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

func (d *Dictionary) encoder() (*zstd.Encoder, error) {
	if encoder, ok := d.encoders.Get().(*zstd.Encoder); ok {
		return encoder, nil
	}
	return zstd.NewWriter(nil, d.encoding, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true))
}

func (d *Dictionary) decoder() (*zstd.Decoder, error) {
	if decoder, ok := d.decoders.Get().(*zstd.Decoder); ok {
		return decoder, nil
	}
	return zstd.NewReader(nil, d.decoding, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(1<<32))
}

// worth is by how much an item must shrink to be kept packed: by a quarter, or each reader pays for nothing.
func worth(plain, packed int) bool { return packed < plain-plain/4 }

// Pack returns an item with the same content that takes less memory; the item itself when it would not, or is packed.
func (d *Dictionary) Pack(it *Item) Item {
	if it.by != nil || len(it.data) == 0 {
		return *it
	}
	return d.pack(it, it.data)
}

// Repack packs an item that may be packed against another dictionary.
func (d *Dictionary) Repack(it *Item) Item {
	open := Open(it)
	defer open.Close()
	return d.pack(it, open.Data())
}

// pack returns an item with this content; as it is when that is not worth it.
func (d *Dictionary) pack(it *Item, data []byte) Item {
	encoder, err := d.encoder()
	if err != nil {
		panic("BUG: a dictionary that encoded before no longer does: " + err.Error())
	}
	buffer := buffers.Get().(*[]byte)
	*buffer = encoder.EncodeAll(data, (*buffer)[:0])
	d.encoders.Put(encoder)
	packed := *it
	if worth(len(data), len(*buffer)) {
		packed.data, packed.by = bytes.Clone(*buffer), d
	}
	if cap(*buffer) <= keepBuffer {
		buffers.Put(buffer)
	}
	return packed
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
