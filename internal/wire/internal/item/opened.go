package item

import (
	"sync"
	"sync/atomic"
)

// Opened is an item whose bytes can be read, from Open to Close. Used by one goroutine.
type Opened struct {
	data   []byte
	buffer *[]byte // nil when the bytes are the item's own
	marks  *Marks
}

// keepBuffer is how large in bytes a buffer may be that is used again: larger objects are rare.
const keepBuffer = 256 << 10

// buffers are those of packed items that are being read.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// opened is how many bytes the buffers have that are being read.
var opened atomic.Int64

// OpenBytes is how many bytes of memory items take at the moment that are read and are kept packed.
func OpenBytes() int64 { return opened.Load() }

// Open makes an item's bytes readable. What is packed is unpacked into a buffer, which Close gives back.
func Open(it *Item) Opened {
	if it.by == nil {
		return Opened{data: it.data, marks: &it.marks}
	}
	buffer := buffers.Get().(*[]byte)
	*buffer = it.by.dictionary.unpack((*buffer)[:0], it)
	opened.Add(int64(cap(*buffer)))
	return Opened{data: *buffer, buffer: buffer, marks: &it.marks}
}

// Data is the item's bytes; not to be changed, and not to be kept.
func (o *Opened) Data() []byte { return o.data }

// Marks says what lies where in them; not to be changed.
func (o *Opened) Marks() *Marks { return o.marks }

// Close gives the bytes back: nothing may read them any more.
func (o *Opened) Close() {
	if o.buffer != nil {
		opened.Add(-int64(cap(*o.buffer)))
		if cap(*o.buffer) <= keepBuffer {
			buffers.Put(o.buffer)
		}
	}
	*o = Opened{}
}
