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
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/internal/wire/protowire"
)

// preload reads discovery and keeps the named resources cached, however long the upstream takes to come up.
type preload struct {
	names   []string
	in      []wire.Encoding
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
		errs = append(errs, p.keep(resource, name)...)
	}
	return errors.Join(errs...)
}

// keep asks for the resource's lanes, in each of the encodings that it has.
func (p *preload) keep(resource upstream.Resource, name string) (errs []error) {
	for _, encoding := range p.in {
		if !reflector.Offers(resource, encoding) {
			continue
		}
		lane, err := p.lanes.Get(resource, encoding)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if _, err := lane.Cache.State(); err != nil {
			errs = append(errs, fmt.Errorf("%s in %s is not synced", name, encoding.Name()))
		}
	}
	return errs
}

// encodings are those that resources can be preloaded in, by name.
var encodings = map[string]wire.Encoding{
	jsonwire.Encoding{}.Name(): jsonwire.Encoding{}, protowire.Encoding{}.Name(): protowire.Encoding{},
}

func encodingsOf(names []string) []wire.Encoding {
	var all []wire.Encoding
	for _, name := range names {
		all = append(all, encodings[name])
	}
	return all
}
