package journal

import (
	"encoding/binary"
	"time"
)

// Kind is the type of a record.
type Kind byte

// The kinds of records.
const (
	// Object is an object of the checkpoint.
	Object Kind = iota + 1
	// Upsert is an event: an object was created or changed.
	Upsert
	// Delete is an event: an object was deleted. Payload is its last content.
	Delete
	// Progress says that there is no event between the previous record and this record's resourceVersion.
	Progress
	// Dictionary has data that the payloads of later records refer to. It precedes its first use in a segment.
	Dictionary
)

// Record is an entry of a segment.
type Record struct {
	Kind Kind
	RV   uint64    // resourceVersion of the event; of the object if Kind is Object; 0 if Kind is Dictionary
	Time time.Time // when the lane received the event, with millisecond precision; zero if Kind is Object or Dictionary
	Key  string
	// Payload is opaque to this package. In a record that was read, it is valid until the next record is read.
	Payload []byte
	// Plain tells the writer that Payload is not compressed. Not set in a record that was read.
	Plain bool
}

// isEvent reports whether records of this kind are ordered by resourceVersion and have a time.
func (k Kind) isEvent() bool { return k == Upsert || k == Delete || k == Progress }

func (k Kind) block() blockKind {
	switch k {
	case Object:
		return objectsBlock
	case Upsert, Delete, Progress:
		return eventsBlock
	case Dictionary:
		return dictionaryBlock
	}
	return 0
}

func (r *Record) append(b []byte) []byte {
	b = append(b, byte(r.Kind))
	b = binary.AppendUvarint(b, r.RV)
	if r.Kind.isEvent() {
		b = binary.AppendVarint(b, r.Time.UnixMilli())
	}
	b = append(binary.AppendUvarint(b, uint64(len(r.Key))), r.Key...)
	return append(binary.AppendUvarint(b, uint64(len(r.Payload))), r.Payload...)
}

// cursor reads records from the content of a block. It sets broken if the content is invalid.
type cursor struct {
	rest   []byte
	broken bool
}

// next reads a record. It must not be called at the end.
func (c *cursor) next() Record {
	r := Record{Kind: Kind(c.rest[0])}
	c.rest = c.rest[1:]
	r.RV = c.number(binary.Uvarint(c.rest))
	if r.Kind.isEvent() {
		ms, n := binary.Varint(c.rest)
		r.Time = time.UnixMilli(ms).UTC()
		c.number(0, n)
	}
	r.Key = string(c.bytes())
	r.Payload = c.bytes()
	return r
}

// number skips a number of n bytes and returns its value v. n <= 0 means that no number was decoded.
func (c *cursor) number(v uint64, n int) uint64 {
	if n <= 0 {
		c.broken, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) bytes() []byte {
	length := c.number(binary.Uvarint(c.rest))
	if c.broken || length > uint64(len(c.rest)) {
		c.broken, c.rest = true, nil
		return nil
	}
	b := c.rest[:length:length]
	c.rest = c.rest[length:]
	return b
}
