package facade

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// preload reads discovery and keeps the configured resources cached. It repeats failed attempts.
type preload struct {
	wanted  []wanted
	catalog *upstream.Catalog
	lanes   *reflector.Lanes
	log     *zap.Logger
	synced  atomic.Bool
	filling atomic.Pointer[[]*reflector.Reflector] // lanes that were not synced at the last attempt
}

// wanted is a resource to cache from the start.
type wanted struct {
	name string // such as deployments.apps
	in   []wire.Encoding
}

const preloadEvery = time.Second

// run requests the lanes once a second, and each time a lane is filled, until the context ends. The requests keep the
// lanes from becoming idle.
func (p *preload) run(ctx context.Context) {
	ticker := time.NewTicker(preloadEvery)
	defer ticker.Stop()
	last := ""
	for {
		err := p.once(ctx)
		p.synced.Store(err == nil)
		if err != nil && err.Error() != last && ctx.Err() == nil {
			p.log.Warn("Discovery or preload is incomplete, so the facade is not ready", zap.Error(err))
			last = err.Error()
		}
		if p.await(ctx) {
			continue
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p *preload) once(ctx context.Context) error {
	if !p.catalog.Known() {
		if err := p.catalog.Refresh(ctx); err != nil {
			return err
		}
	}
	var errs []error
	var filling []*reflector.Reflector
	defer func() { p.filling.Store(&filling) }()
	for _, w := range p.wanted {
		gvr, err := p.catalog.Match(w.name)
		if err != nil {
			errs = append(errs, err)
			_ = p.catalog.Refresh(ctx) // the CRD may be new; the next attempt reports a failure
			continue
		}
		resource, _, err := p.catalog.Lookup(ctx, gvr)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		unsynced, failed := p.keep(resource, w)
		filling, errs = append(filling, unsynced...), append(errs, failed...)
	}
	return errors.Join(errs...)
}

// await waits up to preloadEvery for the first lane in filling, and reports whether that lane is synced.
func (p *preload) await(ctx context.Context) bool {
	filling := p.filling.Load()
	if filling == nil || len(*filling) == 0 {
		return false
	}
	lane := (*filling)[0]
	lane.AwaitSync(ctx, preloadEvery)
	_, err := lane.Cache.State()
	return err == nil
}

// progress returns the total progress of the lanes that are being filled; "" if it is unknown.
func (p *preload) progress() string {
	filling := p.filling.Load()
	if filling == nil {
		return ""
	}
	var objects, expected int64
	var left time.Duration
	for _, lane := range *filling {
		lanes, listing := lane.Progress()
		if listing && lanes.Expected == 0 {
			return "" // the total is unknown
		}
		objects, expected, left = objects+min(lanes.Objects, lanes.Expected), expected+lanes.Expected, max(left, lanes.Left)
	}
	if expected == 0 {
		return ""
	}
	return fmt.Sprintf("%d%% filled, about %s left", 100*objects/expected, left.Round(time.Second))
}

// keep requests the resource's lane in each of its encodings. It returns the lanes that are not synced yet, and an
// error for each lane that cannot serve reads yet.
func (p *preload) keep(resource upstream.Resource, w wanted) (filling []*reflector.Reflector, errs []error) {
	for _, encoding := range w.in {
		if !reflector.Offers(resource, encoding) {
			continue
		}
		lane, err := p.lanes.Keep(resource, encoding)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if failure := lane.Failure(); failure != nil && failure.TooLarge() {
			continue // requests for the resource are forwarded, so readiness does not wait for it
		}
		if _, err := lane.Cache.State(); err != nil {
			filling = append(filling, lane)
			errs = append(errs, fmt.Errorf("%s in %s is not synced", w.name, encoding.Name()))
		}
	}
	return filling, errs
}
