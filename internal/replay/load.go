package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/transcode"
)

// loader reads the content of lanes at a cut. It decodes only the last content of each object.
type loader struct {
	dir    string
	cut    journal.Cut
	served *served
	log    *zap.Logger
}

// loaded is the content of a lane at the cut, with the steps after the cut.
type loaded struct {
	*recording
	list map[string]*stored
	objs []*cache.Object
}

// part is a lane of the journal, and the encoding in which the replay serves it.
type part struct {
	journal.LaneCut
	segments []journal.Segment // begins with the segment that has the content at the cut
	encoding string
}

// parts returns the lanes to load. A resource that was recorded only in protobuf gets a second lane in JSON if package
// transcode can convert its objects.
func (l *loader) parts() (all []part) {
	inJSON := map[string]bool{}
	for _, lane := range l.cut.Lanes {
		segments, err := l.segments(lane)
		if err != nil {
			l.note(lane.Lane, err)
			continue
		}
		id := segments[0].Identity
		inJSON[id.Resource] = inJSON[id.Resource] || id.Encoding == jsonName
		all = append(all, part{lane, segments, id.Encoding})
	}
	for _, one := range all {
		id := one.segments[0].Identity
		resource, err := l.served.resource(id)
		if err == nil && !inJSON[id.Resource] && transcode.Knows(resource.GVK) {
			all = append(all, part{one.LaneCut, one.segments, jsonName})
		}
	}
	return all
}

func (l *loader) note(lane string, err error) {
	l.log.Warn("Cannot replay a lane", zap.String("lane", lane), zap.Error(err))
}

// load reads all lanes, at most atOnce of them at the same time. It omits and logs lanes that the replay cannot serve.
// The tracks keep the context for later reads.
func (l *loader) load(ctx context.Context, atOnce int) ([]*loaded, error) {
	parts := l.parts()
	all := make([]*loaded, len(parts))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, part := range parts {
		group.Go(func() error {
			one, err := l.one(ctx, part)
			if err != nil && ctx.Err() == nil {
				l.note(part.Lane, err)
				return nil
			}
			all[i] = one
			return err
		})
	}
	err := group.Wait()
	all = slices.DeleteFunc(all, func(one *loaded) bool { return one == nil })
	if err == nil && len(all) == 0 {
		err = errNoLanes
	}
	if err != nil {
		for _, one := range all {
			one.steps.close()
		}
		return nil, err
	}
	return all, nil
}

func (l *loader) one(ctx context.Context, part part) (*loaded, error) {
	lane, err := l.served.newLane(part.segments[0].Identity, part.encoding)
	if err != nil {
		return nil, err
	}
	one := &loaded{recording: &recording{lane: lane, name: part.Lane, steps: newTrack(ctx, part.segments)}}
	if part.Certainty == journal.Absent {
		return one, nil // the lane begins after the cut
	}
	for s := one.steps.peek(); s != nil && s.rv <= l.cut.RV; s = one.steps.peek() {
		if err := one.collect(s); err != nil {
			one.steps.close()
			return nil, err
		}
		one.steps.take()
	}
	if one.last == nil {
		one.steps.close()
		return nil, fmt.Errorf("read the checkpoint: %w", one.steps.failure)
	}
	if one.objs, err = one.objects(one.list); err != nil {
		one.steps.close()
		return nil, err
	}
	one.list = nil
	return one, nil
}

// segments returns the segments of a lane from the one with the content at the cut. If the lane begins after the cut,
// it returns all segments. In both cases, sameHistory shortens the result.
func (l *loader) segments(part journal.LaneCut) ([]journal.Segment, error) {
	from := part.Segment.Sequence
	if part.Certainty == journal.Absent {
		if part.Next == nil {
			return nil, errNoLanes
		}
		from = part.Next.Sequence
	}
	all, err := journal.Segments(l.dir, part.Lane)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Sequence == from {
			all = all[i:]
			break
		}
	}
	if all = l.sameHistory(all); len(all) == 0 {
		return nil, errNoLanes
	}
	return all, nil
}

// sameHistory returns the segments before the first one that has another cluster, or lower resourceVersions than its
// predecessor. After a restore from a backup, the same versions have other content.
func (l *loader) sameHistory(all []journal.Segment) []journal.Segment {
	last := uint64(0)
	for i := range all {
		if all[i].Err != nil {
			continue
		}
		if all[i].Cluster != l.cut.Cluster || all[i].RV < last {
			return all[:i]
		}
		last = all[i].Last
	}
	return all
}

func (o *loaded) collect(s *step) error {
	switch s.kind {
	case stepList:
		o.list = s.list
		if err := o.adopt(*s.identity); err != nil {
			return err
		}
	case stepUpsert:
		o.list[s.key] = s.stored.kept()
	case stepDelete:
		delete(o.list, s.key)
	case stepProgress:
	}
	o.note(s)
	return nil
}

// show makes the content visible. A lane that lacks the version of the cut shows its last version.
func (o *loaded) show() {
	if o.last == nil {
		return
	}
	o.store.Replace(cache.RV(o.last.rv), o.form.Load().shape, o.objs)
	o.objs = nil
}

// newest returns the highest resourceVersion and the latest time of the steps that were applied to any lane.
func newest(all []*loaded) (rv uint64, at time.Time) {
	for _, one := range all {
		if one.last == nil {
			continue
		}
		rv = max(rv, one.last.rv)
		if one.last.at.After(at) {
			at = one.last.at
		}
	}
	return rv, at
}

// goesOn reports whether the lane has records after the cut, or cannot be read further because of an error.
func (o *loaded) goesOn() bool { return o.steps.peek() != nil || o.steps.failure != nil }
