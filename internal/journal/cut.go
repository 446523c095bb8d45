package journal

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Certainty says how complete the journal is for a lane at the resourceVersion of a cut.
type Certainty int

const (
	// Absent means that the lane has no checkpoint of the cut's cluster at or before the resourceVersion.
	Absent Certainty = iota
	// Exact means that the journal has the lane's content at the resourceVersion.
	Exact
	// Hole means that the resourceVersion is between the end of a segment and the checkpoint of the next one. Events
	// between them may be missing.
	Hole
	// Tail means that the resourceVersion is after the end of the lane's journal. Later events may be missing.
	Tail
)

// String implements fmt.Stringer.
func (c Certainty) String() string { return [...]string{"absent", "exact", "hole", "tail"}[c] }

// Cut is one consistent moment of all lanes of a cluster.
type Cut struct {
	Cluster string
	RV      uint64
	Lanes   []LaneCut // all lanes with a readable segment, sorted by name
}

// LaneCut is the part of a Cut that describes one lane.
type LaneCut struct {
	Lane      string
	Certainty Certainty
	// Segment has the lane's last content at or before Cut.RV: the checkpoint and all events up to Cut.RV. It is empty
	// if Certainty is Absent.
	Segment Segment
	// Next is the segment after Segment, of any cluster; nil if there is none.
	Next *Segment
}

type laneSegments struct {
	name string
	all  []Segment // readable segments
}

// CutAt returns the cut at a time, from the records up to that time. The cut's cluster is the one with the latest
// record. The cut's RV is the highest that a lane of the cluster recorded, or 0 without records. In each lane, CutAt
// looks at the record that was written last, even if the clock went back.
func CutAt(ctx context.Context, dir string, at time.Time) (Cut, error) {
	lanes, err := readable(dir)
	if err != nil {
		return Cut{}, err
	}
	var cut Cut
	var latest time.Time
	first := make([]int, len(lanes)) // index of each lane's segment at that time; -1 if there is none
	rv := make([]uint64, len(lanes))
	for i, lane := range lanes {
		var recorded time.Time
		if first[i], rv[i], recorded, err = lane.at(ctx, at); err != nil {
			return Cut{}, err
		}
		if first[i] >= 0 && !recorded.Before(latest) {
			latest, cut.Cluster = recorded, lane.all[first[i]].Cluster
		}
	}
	for i, lane := range lanes {
		if first[i] >= 0 && lane.all[first[i]].Cluster == cut.Cluster {
			cut.RV = max(cut.RV, rv[i])
		}
	}
	for i, lane := range lanes {
		cut.add(lane, lane.forward(first[i], &cut))
	}
	return cut, nil
}

// CutAtVersion returns the cut at a resourceVersion. The cut's cluster is the one with the latest record.
func CutAtVersion(dir string, rv uint64) (Cut, error) {
	lanes, err := readable(dir)
	if err != nil {
		return Cut{}, err
	}
	cut := Cut{RV: rv}
	var latest time.Time
	for _, lane := range lanes {
		if last := lane.all[len(lane.all)-1]; !last.Until.Before(latest) {
			latest, cut.Cluster = last.Until, last.Cluster
		}
	}
	for _, lane := range lanes {
		i := len(lane.all) - 1
		for i >= 0 && (lane.all[i].RV > rv || lane.all[i].Cluster != cut.Cluster) {
			i--
		}
		cut.add(lane, i)
	}
	return cut, nil
}

// readable returns the lanes that have readable segments, with only these segments.
func readable(dir string) ([]laneSegments, error) {
	names, err := Lanes(dir)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var lanes []laneSegments
	for _, name := range names {
		all, err := Segments(dir, name)
		if err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
		if all = slices.DeleteFunc(all, func(s Segment) bool { return s.Err != nil }); len(all) > 0 {
			lanes = append(lanes, laneSegments{name, all})
		}
	}
	return lanes, nil
}

// at returns the segment with the last record that was written at or before a time, and the record's resourceVersion
// and time. The index is -1 if there is none.
func (l *laneSegments) at(ctx context.Context, t time.Time) (index int, rv uint64, recorded time.Time, err error) {
	for i := len(l.all) - 1; i >= 0; i-- {
		s := &l.all[i]
		if s.Earliest.After(t) {
			continue
		}
		if !s.Until.After(t) {
			return i, s.Last, s.Until, nil
		}
		rv, recorded, err := s.at(ctx, t)
		return i, rv, recorded, err
	}
	return -1, 0, time.Time{}, nil
}

// forward returns the index of the last segment, from the given index on, whose checkpoint is not after the cut. It
// returns -1 if there is none. It stops where resourceVersions went back, because the cluster was then restored from a
// backup.
func (l *laneSegments) forward(index int, cut *Cut) int {
	if index >= 0 && l.all[index].Cluster != cut.Cluster {
		return -1
	}
	for next := index + 1; next < len(l.all); next++ {
		s := &l.all[next]
		if s.Cluster != cut.Cluster || s.RV > cut.RV || index >= 0 && s.RV < l.all[index].Last {
			break
		}
		index = next
	}
	return index
}

func (c *Cut) add(lane laneSegments, index int) {
	part := LaneCut{Lane: lane.name}
	if index+1 < len(lane.all) {
		part.Next = &lane.all[index+1]
	}
	if index >= 0 {
		part.Segment = lane.all[index]
		part.Certainty = part.certainty(c.RV)
	}
	c.Lanes = append(c.Lanes, part)
}

func (l *LaneCut) certainty(rv uint64) Certainty {
	switch {
	case rv <= l.Segment.Last || l.Next != nil && l.Next.Continues(&l.Segment):
		return Exact
	case l.Next != nil:
		return Hole
	}
	return Tail
}
