package journal

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"time"
)

// syncEvery is the number of bytes of a checkpoint after which the output syncs the file. The end of the context cannot
// interrupt a sync. A single sync at the end would take most of the checkpoint's time, and a caller whose context ends
// would wait for it.
const syncEvery = 32 << 20

type disk interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// output is a segment that is being written. Append works on a copy, so that an error leaves the output unchanged.
type output struct {
	file       disk
	sequence   uint64
	id         uint64
	began      time.Time // time of the checkpoint (Start.Time)
	size       int64
	checkpoint int64 // size in bytes when the checkpoint was complete
	synced     int64 // size in bytes at the last sync of the checkpoint
	blocks     uint32
	records    uint32 // number of objects of the checkpoint
	rv         uint64 // last resourceVersion
	earliest   int64  // earliest time of all records, in milliseconds
	until      int64  // time of the last record, in milliseconds
}

// newOutput writes the format line and the first block.
func newOutput(file disk, sequence uint64, s Start, b *builder) (*output, error) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	ms := s.Time.UnixMilli()
	s.Time = milliseconds(ms) // as precise as the times of records
	o := &output{
		file: file, sequence: sequence, id: binary.BigEndian.Uint64(random[:]) | 1, began: s.Time, rv: s.RV,
		earliest: ms, until: ms,
	}
	text, err := json.Marshal(start{o.id, s})
	if err != nil {
		return nil, err
	}
	if _, err := file.WriteAt([]byte(format), 0); err != nil {
		return nil, err
	}
	o.size = int64(len(format))
	b.begin(startBlock, o)
	b.block = append(b.block, text...)
	return o, o.put(b)
}

// put finishes the block and writes it.
func (o *output) put(b *builder) error {
	block := b.finish()
	if _, err := o.file.WriteAt(block, o.size); err != nil {
		return err
	}
	o.size += int64(len(block))
	o.blocks++
	if b.h.Kind == objectsBlock && o.size-o.synced >= syncEvery {
		o.synced = o.size
		return o.file.Sync()
	}
	if b.h.Kind == eventsBlock {
		o.rv, o.until, o.earliest = b.h.Last, b.h.Until, min(o.earliest, b.h.Earliest)
	}
	return nil
}

func (o *output) mark(kind blockKind, b *builder) error {
	b.begin(kind, o)
	b.h.Records = o.records
	if kind == endBlock {
		b.h.Earliest = o.earliest
	}
	return o.put(b)
}

// write writes records in blocks of a kind. It returns the context's cause if the context ends. After an error, some
// records may have been written.
func (o *output) write(ctx context.Context, kind blockKind, records iter.Seq[Record], b *builder) error {
	b.begin(kind, o)
	for r := range records {
		if err := o.allows(&r, kind, b); err != nil {
			return err
		}
		if r.Kind == Dictionary || b.content() >= blockSize {
			if err := o.flush(ctx, kind, b); err != nil {
				return err
			}
		}
		if r.Kind == Dictionary {
			b.h.Kind = dictionaryBlock
		}
		b.add(&r)
		if r.Kind == Dictionary {
			if err := o.flush(ctx, kind, b); err != nil {
				return err
			}
		}
	}
	return o.flush(ctx, kind, b)
}

func (o *output) allows(r *Record, kind blockKind, b *builder) error {
	switch size := len(r.Key) + len(r.Payload); {
	case r.Kind != Dictionary && r.Kind.block() != kind:
		return fmt.Errorf("write record of kind %d among blocks of kind %d", r.Kind, kind)
	case size > contentLimit-blockSize-headerSize:
		return fmt.Errorf("write %s of %d bytes: %w", r.Key, size, ErrTooLarge)
	case r.Kind.isEvent() && r.RV < b.h.Last:
		return fmt.Errorf("write %s at %d after %d: %w", r.Key, r.RV, b.h.Last, ErrOrder)
	}
	return nil
}

// flush writes the block, if it has records, and begins the next one.
func (o *output) flush(ctx context.Context, kind blockKind, b *builder) error {
	if b.h.Records == 0 {
		return nil
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if b.h.Kind == objectsBlock {
		o.records += b.h.Records
	}
	if err := o.put(b); err != nil {
		return err
	}
	b.begin(kind, o)
	return nil
}

func create(path string) (disk, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // O_EXCL follows no link
}
