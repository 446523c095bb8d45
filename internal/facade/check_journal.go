package facade

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/journal"
)

const (
	// leastSpace is the minimum free space for a journal, in bytes.
	leastSpace = 16 << 20
	// compactedAfter is the maximum age of revisions in etcd with kube-apiserver's default compaction interval. After a
	// longer time, the upstream may no longer have the events that follow a lane's last record.
	compactedAfter = 10 * time.Minute
)

// laneFiles are the segments of a lane in the journal, at least one.
type laneFiles struct {
	name     string
	segments []journal.Segment
}

// journal checks whether the journal can be written. It notes which lanes would not be restored from the journal, and
// where the journal lacks events. It creates no file. It returns true, because no later check depends on the journal.
func (i *inspection) journal(ctx context.Context) bool {
	dir := i.config.JournalDir
	if dir == "" {
		return true
	}
	free, exists, err := journal.Space(dir)
	if err == nil && free < leastSpace {
		err = fmt.Errorf("%d MiB are free in %s, want at least %d MiB", free>>20, dir, leastSpace>>20)
	}
	var lanes []laneFiles
	if err == nil {
		lanes, err = filesOf(dir)
	}
	segments, used := total(lanes)
	if err == nil && !exists {
		i.note("journal", dir+" does not exist yet; the facade creates it")
	}
	if !i.say("journal", err, "%d segments of %d lanes, %d MiB in %s, %d MiB are free", segments, len(lanes), used>>20, dir, free>>20) {
		return true
	}
	if most := uint64(max(0, i.config.JournalMaxBytes)); most > used+free { //nolint:gosec // not negative
		i.note("journal", fmt.Sprintf("--journal-max-bytes allows %d MiB, but only %d MiB fit", most>>20, (used+free)>>20))
	}
	cluster, err := i.client.ClusterUID(ctx)
	if err != nil {
		i.say("journal", fmt.Errorf("the journal needs the UID of the namespace kube-system: %w", err), "")
		return true
	}
	for _, lane := range lanes {
		i.lane(lane, cluster)
	}
	return true
}

func filesOf(dir string) ([]laneFiles, error) {
	names, err := journal.Lanes(dir)
	if err != nil {
		return nil, err
	}
	var lanes []laneFiles
	for _, name := range names {
		segments, err := journal.Segments(dir, name)
		if err != nil {
			return nil, err
		}
		if len(segments) > 0 {
			lanes = append(lanes, laneFiles{name, segments})
		}
	}
	return lanes, nil
}

func total(lanes []laneFiles) (segments int, bytes uint64) {
	for _, lane := range lanes {
		segments += len(lane.segments)
		for _, s := range lane.segments {
			bytes += uint64(max(s.Size, 0)) //nolint:gosec // not negative
		}
	}
	return segments, bytes
}

func (i *inspection) lane(lane laneFiles, cluster string) {
	subject := "journal of " + lane.name
	if err := i.restores(&lane.segments[len(lane.segments)-1], cluster); err != nil {
		i.note(subject, fmt.Sprintf("would not be used at a restart, so the resource would be listed: %v", err))
	}
	for n := range lane.segments[1:] {
		s, next := &lane.segments[n], &lane.segments[n+1]
		switch {
		case s.Err != nil:
			i.note(subject, fmt.Sprintf("read segment %d: %v", s.Sequence, s.Err))
		case next.Err == nil && !next.Continues(s):
			i.note(subject, fmt.Sprintf("events may be missing from %s to %s", inUTC(s.Until), inUTC(next.Time)))
		}
	}
}

func inUTC(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// restores returns why a lane would not be restored from its newest segment, or nil if it would.
func (i *inspection) restores(s *journal.Segment, cluster string) error {
	age := time.Since(s.Until).Truncate(time.Second)
	switch {
	case s.Err != nil:
		return fmt.Errorf("read segment %d: %w", s.Sequence, s.Err)
	case s.Cluster != cluster:
		return errors.New("the journal belongs to another cluster")
	case !strings.HasPrefix(s.Upstream, i.version+" "):
		return fmt.Errorf("the journal was written from kube-apiserver %s, want %s", s.Upstream, i.version)
	case age > compactedAfter:
		return fmt.Errorf("the last record of the lane is %v old; etcd may have compacted the events after it", age)
	}
	return nil
}
