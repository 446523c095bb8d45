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
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// preload reads discovery and keeps the named resources cached, however long the upstream takes to come up.
type preload struct {
	names   []string
	catalog *upstream.Catalog
	lanes   *reflector.Lanes
	log     *zap.Logger
	synced  atomic.Bool
}

const preloadEvery = time.Second

// run asks once a second until the context ends; asking keeps a lane from being idle.
func (p *preload) run(ctx context.Context) {
	ticker := time.NewTicker(preloadEvery)
	defer ticker.Stop()
	last := ""
	for {
		err := p.once(ctx)
		p.synced.Store(err == nil)
		if err != nil && err.Error() != last && ctx.Err() == nil {
			p.log.Warn("not ready", zap.Error(err))
			last = err.Error()
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
	for _, name := range p.names {
		gvr, err := p.catalog.Match(name)
		if err != nil {
			errs = append(errs, err)
			_ = p.catalog.Refresh(ctx) // a CRD may be on its way; its own error comes back the next time
			continue
		}
		resource, _, err := p.catalog.Lookup(ctx, gvr)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		lane, err := p.lanes.Get(resource, jsonwire.Encoding{})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if _, err := lane.Cache.State(); err != nil {
			errs = append(errs, fmt.Errorf("%s is not synced", name))
		}
	}
	return errors.Join(errs...)
}
