package journal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Document is an answer of the upstream that is not a list of objects, such as a discovery document.
type Document struct {
	Path      string // path of the URL, with the query if there is one
	Accept    string // Accept header of the request
	MediaType string // Content-Type of the answer
	Body      []byte
	Time      time.Time
}

type name struct{ path, accept string }

const separator = "\x00" // between path and Accept in a record's key

func (d *Document) name() name { return name{d.Path, d.Accept} }

func (d *Document) payload() []byte {
	payload := append(binary.AppendUvarint(nil, uint64(len(d.MediaType))), d.MediaType...)
	return append(payload, d.Body...)
}

func (d *Document) record(kind Kind) Record {
	return Record{Kind: kind, Time: d.Time, Key: d.Path + separator + d.Accept, Payload: d.payload(), Plain: true}
}

func documentOf(r Record) (Document, error) {
	path, accept, ok := strings.Cut(r.Key, separator)
	c := cursor{rest: r.Payload}
	d := Document{Path: path, Accept: accept, MediaType: string(c.bytes()), Time: r.Time}
	if !ok || c.broken {
		return Document{}, fmt.Errorf("%w: invalid document %q", ErrDamaged, r.Key)
	}
	d.Body = append([]byte{}, c.rest...)
	return d, nil
}

// Documents writes the documents of a cluster to the journal. Not safe for concurrent use.
type Documents struct {
	writer  *Writer
	cluster string
	known   map[name][sha256.Size]byte // hashes of the documents in the open segment
}

// Documents returns the writer of documents. At most one may be in use.
func (j *Journal) Documents(cluster string) *Documents {
	writer := &Writer{journal: j, dir: filepath.Join(j.dir, documentsDir)}
	return &Documents{writer: writer, cluster: cluster, known: map[name][sha256.Size]byte{}}
}

// Put writes a document if it differs from the last one with the same path and Accept header. After an error, the
// caller may call Put again.
func (d *Documents) Put(ctx context.Context, document Document) error {
	if d.writer.Due(document.Time, Limits{}) {
		if err := d.begin(ctx, document.Time); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(document.payload())
	if last, known := d.known[document.name()]; known && last == sum {
		return nil
	}
	if err := d.writer.Append(ctx, slices.Values([]Record{document.record(Upsert)})); err != nil {
		return err
	}
	d.known[document.name()] = sum
	return nil
}

// begin begins a segment with the last content of all documents of the cluster.
func (d *Documents) begin(ctx context.Context, now time.Time) error {
	all, cluster, err := documents(ctx, d.writer.journal.dir, func(time.Time) bool { return true })
	if err != nil {
		return err
	}
	if cluster != d.cluster {
		all = nil
	}
	clear(d.known)
	for _, document := range all {
		d.known[document.name()] = sha256.Sum256(document.payload())
	}
	start := Start{Identity: Identity{Cluster: d.cluster}, Time: now, After: d.writer.Position()}
	return d.writer.Begin(ctx, start, func(yield func(Record) bool) {
		for _, document := range all {
			if !yield(document.record(Object)) {
				return
			}
		}
	})
}

// Close closes the open segment.
func (d *Documents) Close() error { return d.writer.Close() }

// DocumentsAt returns the documents that were valid at a time, sorted by path and Accept header. All are from one
// segment. A document that this segment first received after the time is included, with its first content.
func DocumentsAt(ctx context.Context, dir string, at time.Time) ([]Document, error) {
	all, _, err := documents(ctx, dir, func(t time.Time) bool { return !t.After(at) })
	return all, err
}

// documents returns the documents of the last segment that begins at a time accepted by inTime, or else of the first
// segment. It also returns the segment's cluster.
func documents(ctx context.Context, dir string, inTime func(time.Time) bool) ([]Document, string, error) {
	all, err := segments(filepath.Join(dir, documentsDir))
	if err != nil {
		return nil, "", err
	}
	all = slices.DeleteFunc(all, func(s Segment) bool { return s.Err != nil })
	for i := len(all) - 1; i >= 0; i-- {
		if s := &all[i]; i == 0 || inTime(s.Time) {
			content, err := s.documents(ctx, inTime)
			return content, s.Cluster, err
		}
	}
	return nil, "", nil
}

// documents returns a segment's checkpoint with the changes that inTime accepts, and the documents added later.
func (s *Segment) documents(ctx context.Context, inTime func(time.Time) bool) ([]Document, error) {
	content := map[name]Document{}
	for r, err := range s.Records(ctx) {
		if errors.Is(err, ErrDamaged) {
			break
		}
		if err != nil {
			return nil, err
		}
		d, err := documentOf(r)
		if err != nil {
			return nil, err
		}
		if r.Kind == Object {
			d.Time = s.Time
		}
		if _, seen := content[d.name()]; !seen || inTime(d.Time) {
			content[d.name()] = d
		}
	}
	return slices.SortedFunc(maps.Values(content), func(a, b Document) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Accept, b.Accept))
	}), nil
}
