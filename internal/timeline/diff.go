package timeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/listfacade/listfacade/internal/journal"
)

type filter struct {
	namespace, name string // empty for all
	labels          labels.Selector
}

// key reports whether the filter can select an object with a key, "namespace/name" or "name".
func (f *filter) key(key string) bool {
	namespace, name := split(key)
	return (f.namespace == "" || f.namespace == namespace) && (f.name == "" || f.name == name)
}

func split(key string) (namespace, name string) {
	if namespace, name, ok := strings.Cut(key, "/"); ok {
		return namespace, name
	}
	return "", key
}

// candidate is an object that may differ between the beginning and the end of a period.
type candidate struct {
	before, after held
	next          held // content in the checkpoint after a gap, until the end of this checkpoint
	moved         bool // whether the period has an event of the object or a gap, so that the field after is set
	time          time.Time
	version       uint64
	unseen        bool // whether the object changed in a hole, so that the journal has no event
}

// diff calls the function show with the entries about one resource: its changes, sorted by key, then its holes.
func (p *period) diff(ctx context.Context, s *span, f *filter, show func(*Entry) error) error {
	candidates, holes, err := s.candidates(ctx, f)
	if err == nil && len(candidates) > 0 {
		err = s.fill(ctx, candidates)
	}
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(candidates)) {
		e, changed, err := candidates[key].entry(f)
		if err != nil {
			return fmt.Errorf("%s %s: %w", s.resource, key, err)
		}
		if !changed {
			continue
		}
		e.Resource = s.resource
		e.Namespace, e.Name = split(key)
		if err := show(&e); err != nil {
			return err
		}
	}
	first, last := p.edges(s)
	for _, e := range slices.Concat(first, holes, last) {
		if err := show(&e); err != nil {
			return err
		}
	}
	return nil
}

// candidates returns the objects with events in the period or changes in a hole, by key. It also returns the holes.
func (s *span) candidates(ctx context.Context, f *filter) (map[string]*candidate, []Entry, error) {
	found, holes := map[string]*candidate{}, []Entry(nil)
	// The resourceVersions of all objects by key, and of the objects in the checkpoint after a gap.
	versions, listed := map[string]uint64{}, map[string]uint64{}
	for step, err := range s.steps(ctx) {
		switch {
		case err != nil:
			return nil, nil, err
		case step.kind == gap:
			holes, listed = append(holes, step.hole), map[string]uint64{}
		case step.kind == counted:
			for _, key := range differing(versions, listed) {
				found[key] = &candidate{unseen: true}
			}
			versions = listed
		case !f.key(step.Key):
		case step.kind == content && len(holes) > 0:
			listed[step.Key] = step.RV
		case step.kind == content:
			versions[step.Key] = step.RV
		default:
			if versions[step.Key] = step.RV; step.Kind == journal.Delete {
				delete(versions, step.Key)
			}
			if step.within {
				found[step.Key] = &candidate{time: step.Time, version: step.RV}
			}
		}
	}
	return found, holes, nil
}

func differing(before, after map[string]uint64) []string {
	var keys []string
	for key, version := range before {
		if after[key] != version {
			keys = append(keys, key)
		}
	}
	for key := range after {
		if _, ok := before[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// fill sets the content of each candidate at the beginning and at the end of the period.
func (s *span) fill(ctx context.Context, candidates map[string]*candidate) error {
	listing := false
	for step, err := range s.steps(ctx) {
		switch {
		case err != nil:
			return err
		case step.kind == gap:
			listing = true
			for _, c := range candidates {
				c.next = held{}
			}
		case step.kind == counted: // the checkpoint has all objects that still exist
			listing = false
			for _, c := range candidates {
				c.after, c.moved = c.next, true
			}
		default:
			if c := candidates[step.Key]; c != nil {
				c.add(step, listing)
			}
		}
	}
	return nil
}

func (c *candidate) add(step *step, listing bool) {
	switch {
	case listing:
		c.next = step.held()
	case c.moved || step.within:
		c.after, c.moved = step.held(), true
	default:
		c.before = step.held()
	}
}

func (c *candidate) entry(f *filter) (Entry, bool, error) {
	before, err := c.before.object()
	if err != nil {
		return Entry{}, false, err
	}
	after, err := c.after.object()
	if err != nil || before == nil && after == nil || !matches(f.labels, before, after) {
		return Entry{}, false, err
	}
	e, changed := compare(before, after)
	e.Time, e.Version = c.time, c.version
	if c.unseen {
		e.Note = "changed in a hole"
	}
	return e, changed, nil
}
