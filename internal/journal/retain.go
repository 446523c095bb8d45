package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Limits says how much of the journal Retain keeps.
type Limits struct {
	Age   time.Duration // how long Retain keeps a segment after its last record; 0 means no limit
	Bytes int64         // maximum size of all segments; 0 means no limit
}

// Kept is the result of Retain.
type Kept struct {
	Segments int
	Bytes    int64
	Removed  int
	Over     bool // the remaining segments take more than Limits.Bytes
}

// kept is a segment's file, which Retain may remove.
type kept struct {
	file
	bytes int64
	// changed is the latest modification time of this file and the earlier files of the lane. For documents, the time of
	// the next file replaces the time of this file, because documents are valid until the next segment begins.
	changed time.Time
	stays   bool // newest segment of a lane with a writer, or of documents
}

// Retain removes segments beyond the limits, beginning with the one that was modified earliest. It keeps the newest
// segment of documents and of each lane whose writer is not closed, and all segments of a lane that Hold protects. To
// make room on a full disk, the caller passes a lower Limits.Bytes. Readers that have a removed segment open can still
// read it.
func (j *Journal) Retain(now time.Time, limits Limits) (Kept, error) {
	all, err := j.all()
	var result Kept
	for _, k := range all {
		result.Bytes += k.bytes
		result.Segments++
	}
	for _, k := range all {
		old := limits.Age > 0 && now.Sub(k.changed) > limits.Age
		over := limits.Bytes > 0 && result.Bytes > limits.Bytes
		if _, held := j.held.Load(filepath.Dir(k.path)); held || k.stays || !old && !over {
			continue
		}
		if failed := ignoreMissing(os.Remove(k.path)); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		result.Bytes -= k.bytes
		result.Segments--
		result.Removed++
	}
	result.Over = limits.Bytes > 0 && result.Bytes > limits.Bytes
	return result, err
}

// all returns the files of all segments, sorted by kept.changed. Segments of a lane stay in their order.
func (j *Journal) all() ([]kept, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	dirs, err := directories(j.dir)
	var all []kept
	for _, dir := range dirs {
		names, failed := files(dir)
		documents := dir == filepath.Join(j.dir, documentsDir)
		stays := j.running[dir] || documents // documents of an earlier process are still valid
		if len(names) == 0 && !stays {
			_ = os.Remove(dir) // fails unless the directory is empty
		}
		latest := time.Time{}
		for i, name := range names {
			info, missing := os.Lstat(name.path)
			if missing != nil {
				failed = errors.Join(failed, ignoreMissing(missing))
				continue
			}
			if !documents || i == len(names)-1 {
				latest = later(latest, info.ModTime())
			} else if next, missing := os.Lstat(names[i+1].path); missing == nil {
				latest = later(latest, next.ModTime())
			}
			all = append(all, kept{name, info.Size(), latest, stays && i == len(names)-1})
		}
		err = errors.Join(err, failed)
	}
	slices.SortStableFunc(all, func(a, b kept) int { return a.changed.Compare(b.changed) })
	return all, err
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
