package item

import (
	"sync"
	"sync/atomic"
)

// Opened is an item whose plain bytes can be read until Close. Used by one goroutine.
type Opened struct {
	data   []byte
	buffer *[]byte // buffer of unpacked bytes; nil if the bytes belong to the item
	marks  *Marks
}

// keepBuffer is the maximum capacity in bytes of a buffer that returns to the pool. Larger objects are rare.
const keepBuffer = 256 << 10

var buffers = sync.Pool{New: func() any { return new([]byte) }}

var opened atomic.Int64

// OpenBytes returns the total size in bytes of the buffers of packed items that are being read.
func OpenBytes() int64 { return opened.Load() }

// Open makes an item's plain bytes readable until Close. It unpacks a packed item into a buffer.
func Open(it *Item) Opened {
	if it.by == nil {
		return Opened{data: it.data, marks: &it.marks}
	}
	buffer := buffers.Get().(*[]byte)
	*buffer = it.by.dictionary.unpack((*buffer)[:0], it)
	opened.Add(int64(cap(*buffer)))
	return Opened{data: *buffer, buffer: buffer, marks: &it.marks}
}

// Data returns the plain bytes. The caller must not modify them, nor use them after Close.
func (o *Opened) Data() []byte { return o.data }

// Marks returns the marks of the item. The caller must not modify them.
func (o *Opened) Marks() *Marks { return o.marks }

// Close releases the bytes, which must not be read afterwards.
func (o *Opened) Close() {
	if o.buffer != nil {
		opened.Add(-int64(cap(*o.buffer)))
		if cap(*o.buffer) <= keepBuffer {
			buffers.Put(o.buffer)
		}
	}
	*o = Opened{}
}
