package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Segment is a file of the journal: a checkpoint and the events after it. The fields describe the file when it was
// listed.
type Segment struct {
	Start
	Lane     string
	Sequence uint64 // number in the lane; it increases, also if the clock goes back
	// Last is the resourceVersion of the last event or progress, or else of the checkpoint. The segment has every event
	// of the lane from Start.RV to Last.
	Last uint64
	// Until is the time of the last record. Earliest is the lowest time of all records: Start.Time, unless the clock
	// went back.
	Until, Earliest time.Time
	Closed          bool     // whether the writer wrote the end block
	Objects         int      // number of objects of the checkpoint
	Size            int64    // size of the file in bytes
	End             Position // end of the records
	Path            string
	Modified        time.Time // modification time of the file
	// Err is set if the segment cannot be read: ErrDamaged, ErrFormat, ErrAccess, or an error of the file system. Only
	// Lane, Sequence and Path are then valid, and Size and Modified if the file can be opened.
	Err error
}

// Continues reports whether the segment's checkpoint equals the content at the end of another segment.
func (s *Segment) Continues(before *Segment) bool {
	return s.Err == nil && before.Err == nil && s.After != Position{} && s.After == before.End
}

// Run returns the newest segments of a list, each of which continues the previous one. It begins with the newest
// segment whose checkpoint is not later than since, or else with the oldest segment of this sequence. To restore a
// lane, read the checkpoint of the first segment and the events of all returned segments. Run omits a segment that
// cannot be read, and all earlier ones.
func Run(all []Segment, since time.Time) []Segment {
	first := len(all) - 1
	if first < 0 || all[first].Err != nil {
		return nil
	}
	for first > 0 && all[first].Time.After(since) && all[first].Continues(&all[first-1]) {
		first--
	}
	return all[first:]
}

// Lanes returns the names of the lanes in a journal, sorted. It returns none if the directory does not exist.
func Lanes(dir string) ([]string, error) {
	entries, err := ownEntries(filepath.Join(dir, lanesDir))
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && entry.Name()[0] != '.' {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

func directories(dir string) ([]string, error) {
	lanes, err := Lanes(dir)
	all := []string{filepath.Join(dir, documentsDir)}
	for _, lane := range lanes {
		all = append(all, filepath.Join(dir, lanesDir, lane))
	}
	return all, err
}

// Segments returns the segments of a lane in the order in which they were written. It reads the first block of each,
// and the headers of all blocks of a segment that was not closed. It returns none if the lane does not exist.
func Segments(dir, lane string) ([]Segment, error) {
	all, err := segments(filepath.Join(dir, lanesDir, lane))
	for i := range all {
		all[i].Lane = lane
	}
	return all, err
}

func segments(dir string) ([]Segment, error) {
	names, err := files(dir)
	var all []Segment
	for _, name := range names {
		s := Segment{Path: name.path, Sequence: name.sequence}
		if s.Err = s.look(); errors.Is(s.Err, fs.ErrNotExist) {
			continue // Retain removed it
		}
		all = append(all, s)
	}
	return all, err
}

func (s *Segment) look() error {
	file, size, err := openFile(s.Path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil {
		s.Modified = info.ModTime()
	}
	s.Size = size
	b := &blocks{file: file, size: size}
	defer b.close()
	began, err := b.start()
	if err != nil {
		return err
	}
	s.Start = began.Start
	return s.bounds(b)
}

// bounds reads the end block or, if there is none, the headers of all blocks.
func (s *Segment) bounds(b *blocks) error {
	var tail [headerSize]byte
	var h header
	n, _ := b.file.ReadAt(tail[:], b.size-headerSize)
	if n == headerSize && h.get(tail[:], b.segment) && h.Kind == endBlock {
		s.Closed = true
		s.ends(b.size-headerSize, &h)
		s.Earliest, s.Objects = milliseconds(h.Earliest), int(h.Records)
		return nil
	}
	return s.scan(b)
}

func (s *Segment) ends(at int64, h *header) {
	s.Last, s.Until = h.Last, milliseconds(h.Until)
	s.End = Position{s.Sequence, h.Segment, at}
}

// scan reads the headers of all blocks. It ignores the last block if the content of that block is torn.
func (s *Segment) scan(b *blocks) error {
	s.Earliest = s.Time
	for h, ok := b.peek(); ok; {
		before := *b
		b.skip(&h)
		next, more := b.peek()
		if !more && !before.verify(&h) {
			*b = before
			break
		}
		if h.Kind == completeBlock {
			s.Objects = int(h.Records)
		}
		if earliest := milliseconds(h.Earliest); earliest.Before(s.Earliest) {
			s.Earliest = earliest
		}
		s.ends(b.at, &h)
		h, ok = next, more
	}
	return b.whole()
}

func milliseconds(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
