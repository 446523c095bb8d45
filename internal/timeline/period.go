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

// silence is the time without a record after which the journal of a lane has ended. Bookmarks of kube-apiserver, about
// one a minute, are records too.
const silence = 5 * time.Minute

// edge is the beginning or the end of a period.
type edge struct {
	journal.Moment
	rv uint64 // all events up to this version happened before
}

// at returns the edge at a moment, and the UID of the cluster that was recorded then.
func at(ctx context.Context, dir string, m journal.Moment) (edge, string, error) {
	cut, err := journal.CutOf(ctx, dir, m)
	return edge{Moment: m, rv: cut.RV}, cut.Cluster, err
}

// period is a part of a journal.
type period struct {
	dir      string
	cluster  string // that of the end
	from, to edge
}

func newPeriod(ctx context.Context, dir string, from, to journal.Moment) (*period, error) {
	end, cluster, err := at(ctx, dir, to)
	if err != nil {
		return nil, err
	}
	start, of, err := at(ctx, dir, from)
	switch {
	case err != nil:
		return nil, err
	case cluster == "":
		return nil, fmt.Errorf("%s: %w", dir, ErrNoJournal)
	case of != cluster: // the journal of this cluster begins later
		start.rv = 0
	case start.rv > end.rv:
		return nil, ErrOrder
	}
	return &period{dir: dir, cluster: cluster, from: start, to: end}, nil
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
		if s, ok := newSpan(segments, p.cluster, p.from.rv, p.to.rv); ok {
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

// attempts is how often a span is read if the journal removes its first segment meanwhile.
const attempts = 5

// retrying calls a function with a span, and with its current one as long as the journal has removed its first segment.
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
		current, ok := newSpan(segments, p.cluster, p.from.rv, p.to.rv)
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

// edges returns the holes at the beginning and the end of a span.
func (p *period) edges(s *span) (first, last []Entry) {
	if s.late && (p.from.rv > 0 || !p.from.Time.IsZero()) {
		first = append(first, s.lost(p.from.Time, s.segments[0].Time, s.segments[0].RV, "not recorded before"))
	}
	end := &s.segments[len(s.segments)-1]
	if p.to.Time.Sub(end.Until) > silence {
		last = append(last, s.lost(end.Until, p.to.Time, 0, "not recorded afterwards"))
	}
	return first, last
}
