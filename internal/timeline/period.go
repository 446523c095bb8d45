package timeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/version"

	"github.com/listfacade/listfacade/internal/journal"
)

type edge struct {
	journal.Moment
	cut journal.Cut
}

func (e *edge) lane(name string) journal.LaneCut {
	i, ok := slices.BinarySearchFunc(e.cut.Lanes, name, func(l journal.LaneCut, name string) int {
		return strings.Compare(l.Lane, name)
	})
	if !ok {
		return journal.LaneCut{}
	}
	return e.cut.Lanes[i]
}

// after reports whether the edge is later than another edge. If the edges are in different segments of a lane, the
// order of the segments decides, because resourceVersions go back when the cluster is restored from a backup.
func (e *edge) after(other *edge) bool {
	earlier := false
	for i := range e.cut.Lanes {
		own, of := e.cut.Lanes[i].Segment.Sequence, other.lane(e.cut.Lanes[i].Lane).Segment.Sequence
		if own > of && of > 0 {
			return true
		}
		earlier = earlier || own > 0 && own < of
	}
	return !earlier && e.cut.RV > other.cut.RV
}

// recorded returns the time up to which a lane should have records.
func (e *edge) recorded() time.Time {
	latest := e.Time
	if e.Version > 0 {
		for i := range e.cut.Lanes {
			if until := e.cut.Lanes[i].Segment.Until; until.After(latest) {
				latest = until
			}
		}
	}
	return latest
}

type period struct {
	dir      string
	cluster  string // cluster at the end of the period
	from, to edge
}

func newPeriod(ctx context.Context, dir string, from, to journal.Moment) (*period, error) {
	end, err := journal.CutOf(ctx, dir, to)
	if err != nil {
		return nil, err
	}
	begin, err := journal.CutOf(ctx, dir, from)
	if err != nil {
		return nil, err
	}
	if end.Cluster == "" {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoJournal)
	}
	if begin.Cluster != end.Cluster { // the journal of this cluster begins later
		begin = journal.Cut{}
	}
	p := &period{dir: dir, cluster: end.Cluster, from: edge{from, begin}, to: edge{to, end}}
	if p.from.after(&p.to) {
		return nil, ErrOrder
	}
	return p, nil
}

// spans returns one span of each resource in the period, sorted by resource.
func (p *period) spans() ([]span, error) {
	names, err := journal.Lanes(p.dir)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var all []span
	for _, name := range names {
		segments, err := journal.Segments(p.dir, name)
		if err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
		if s, ok := p.span(segments, name); ok {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b span) int {
		if by := strings.Compare(a.resource.String(), b.resource.String()); by != 0 {
			return by
		}
		return preference(&a, &b)
	})
	return slices.CompactFunc(all, func(a, b span) bool { return a.resource.String() == b.resource.String() }), nil
}

// attempts is the maximum number of times that retrying reads a span.
const attempts = 5

// retrying calls a function with a span, and again with a new span if the journal removed the first segment meanwhile.
func (p *period) retrying(s span, read func(*span) error) error {
	for attempt := 1; ; attempt++ {
		err := read(&s)
		if !errors.Is(err, fs.ErrNotExist) || attempt == attempts {
			return err
		}
		segments, failed := journal.Segments(p.dir, s.lane)
		if failed != nil {
			return fmt.Errorf("read journal: %w", failed)
		}
		current, ok := p.span(segments, s.lane)
		if !ok {
			return err
		}
		s = current
	}
}

// preference sorts the spans of one resource: fewer holes first, then JSON, then the version that is more stable or
// higher.
func preference(a, b *span) int {
	if by := a.gaps() - b.gaps(); by != 0 {
		return by
	}
	if a.encoding != b.encoding {
		return strings.Compare(a.encoding, b.encoding) // json, protobuf
	}
	return version.CompareKubeAwareVersionStrings(b.resource.Version, a.resource.Version)
}

func (p *period) edges(s *span) (first, last []Entry) {
	if s.late && (p.from.cut.RV > 0 || !p.from.Time.IsZero()) {
		first = append(first, s.lost(p.from.Time, s.segments[0].Time, s.segments[0].RV, "not recorded before"))
	}
	end := &s.segments[len(s.segments)-1]
	part, until := p.to.lane(s.lane), p.to.recorded()
	complete := part.Next != nil && part.Next.Continues(&part.Segment) || p.to.Version > 0 && end.Last >= p.to.Version
	if !complete && until.Sub(end.Until) > journal.Silence {
		last = append(last, s.lost(end.Until, until, 0, "not recorded afterwards"))
	}
	return first, last
}
