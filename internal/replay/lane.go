package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// lane is the recorded cache of one resource in one encoding. It implements handlers.Lane. Requests never wait for a
// list or a freshness check. They may use the lane concurrently; only the player writes.
type lane struct {
	resource upstream.Resource
	encoding wire.Encoding
	served   *served
	form     atomic.Pointer[form]
	store    *cache.Lane
	warning  atomic.Pointer[string] // describes records that the journal lacks; nil or empty if none
}

func (l *lane) adopt(id journal.Identity) error {
	f, err := l.served.form(l.resource, id, l.encoding)
	if err == nil {
		l.form.Store(f)
	}
	return err
}

func (l *lane) object(key string, s *stored) (*cache.Object, error) {
	form := l.form.Load()
	item, facts, err := form.reading.read(s)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	o, err := form.about.Object(item, &facts)
	if err != nil {
		return nil, err
	}
	if o.Key() != key || uint64(o.RV) != s.rv {
		return nil, fmt.Errorf("read %s: %w", key, errMismatch)
	}
	return o, nil
}

func (l *lane) objects(list map[string]*stored) ([]*cache.Object, error) {
	all := make([]*cache.Object, 0, len(list))
	for key, s := range list {
		o, err := l.object(key, s)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func (l *lane) apply(s *step) error {
	switch s.kind {
	case stepProgress:
		l.store.Progress(cache.RV(s.rv))
		return nil
	case stepList:
		return l.replace(s)
	case stepUpsert, stepDelete:
	}
	o, err := l.object(s.key, s.stored.kept())
	if err != nil {
		return err
	}
	kind := cache.Upsert
	if s.kind == stepDelete {
		kind = cache.Delete
	}
	if err := l.store.Apply(cache.Change{Kind: kind, Object: o}); err != nil && !errors.Is(err, cache.ErrOutOfOrder) {
		return fmt.Errorf("apply %s at %d: %w", s.key, s.rv, err)
	}
	return nil
}

// replace replaces the lane's objects by a list. Watches receive the differences if possible. Otherwise they end.
func (l *lane) replace(s *step) error {
	fits := l.form.Load().fits(s.identity)
	if !fits {
		if err := l.adopt(*s.identity); err != nil {
			return err
		}
	}
	all, err := l.objects(s.list)
	if err != nil {
		return err
	}
	over := l.store.Expect()
	defer over()
	if !fits || l.store.Replay(cache.RV(s.rv), all) != nil {
		l.store.Replace(cache.RV(s.rv), l.form.Load().shape, all)
	}
	return nil
}

// warn sets the warning in the lane's responses; an empty text removes it.
func (l *lane) warn(text string) { l.warning.Store(&text) }

// Store implements handlers.Lane.
func (l *lane) Store() *cache.Lane { return l.store }

// AwaitSync implements handlers.Lane.
func (*lane) AwaitSync(context.Context, time.Duration) {}

// AwaitKind implements handlers.Lane.
func (*lane) AwaitKind(context.Context, time.Duration) {}

// AwaitRelist implements handlers.Lane.
func (*lane) AwaitRelist(context.Context, time.Duration) {}

// FilledIn implements handlers.Lane.
func (*lane) FilledIn() time.Duration { return 0 }

// Failure implements handlers.Lane.
func (*lane) Failure() *reflector.Failure { return nil }

// Settling implements handlers.Lane.
func (*lane) Settling() bool { return false }

// Kind implements handlers.Lane.
func (l *lane) Kind() *selectors.Kind { return l.form.Load().about.Kind }

// Contradicted implements handlers.Lane.
func (*lane) Contradicted() bool { return false }

// Listing implements handlers.Lane.
func (*lane) Listing() *fresh.Listing { return nil }

// Doubts implements handlers.Lane.
func (*lane) Doubts(*fresh.Listing) bool { return false }

// Forwards implements handlers.Lane.
func (*lane) Forwards(context.Context, fresh.Answer) bool { return false }

// Undefined implements handlers.Lane.
func (*lane) Undefined() bool { return false }

// Warnings implements handlers.Lane.
func (l *lane) Warnings() []string {
	all := slices.Clone(l.form.Load().of.Warnings)
	if text := l.warning.Load(); text != nil && *text != "" {
		all = append(all, fmt.Sprintf("299 - %q", *text))
	}
	return all
}

// Bookmark implements handlers.Lane.
func (l *lane) Bookmark() *wire.Bookmark { return &l.form.Load().bookmark }

// Marked implements handlers.Lane. The player advances lanes without events, as bookmarks of an upstream do.
func (*lane) Marked() bool { return true }

// StaleFor implements handlers.Lane.
func (*lane) StaleFor() time.Duration { return 0 }

// state returns the State at the last resourceVersion that the player applied to all lanes.
func (l *lane) state() (*cache.State, error) {
	l.served.writes.RLock()
	defer l.served.writes.RUnlock()
	return l.store.State()
}

// Recent implements handlers.Lane.
func (l *lane) Recent(context.Context, time.Time, fresh.Answer) (*cache.State, fresh.Check, error) {
	s, err := l.state()
	return s, 0, err
}

// Reach implements handlers.Lane.
func (l *lane) Reach(_ context.Context, rv cache.RV, _ fresh.Answer) error {
	s, err := l.state()
	if err == nil && s.RV() < rv {
		err = fresh.ErrAhead
	}
	return err
}

// Now implements handlers.Lane.
func (l *lane) Now(context.Context) (cache.RV, error) {
	s, err := l.state()
	if err != nil {
		return 0, err
	}
	return s.RV(), nil
}

// Advance implements handlers.Lane.
func (l *lane) Advance(ctx context.Context) (cache.RV, error) { return l.Now(ctx) }

// Older implements handlers.Lane. The replay has no events before the moment at which it began.
func (l *lane) Older(_ context.Context, after cache.RV, _ reflector.Selection,
	_ reflector.Turn) (*reflector.OlderEvents, error) {
	oldest, _ := l.store.Oldest()
	return nil, &cache.ExpiredError{Requested: after, Oldest: oldest}
}
