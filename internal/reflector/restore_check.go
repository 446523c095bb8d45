package reflector

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"
	"time"

	"github.com/listfacade/listfacade/internal/divergence"
	"github.com/listfacade/listfacade/internal/upstream"
)

// checkedObjects is the number of objects in a page of metadata. In protobuf, the metadata of an object has about 1 kB.
const checkedObjects = 2000

// checkFreshness compares the names and versions of restored objects with those of the upstream at exactly the same
// resourceVersion. It lists only metadata, and calls moved after each page.
func (r *restorer) checkFreshness(ctx context.Context, c *restored, moved func()) error {
	p := &roll{client: r.lane.client, resource: r.lane.Resource, rv: c.rv.String(), moved: moved}
	laneObjects := func(yield func(divergence.Object) bool) {
		for o := range c.past.Objects {
			if !yield(divergence.Object{Key: o.Key(), Version: o.RV.String()}) {
				return
			}
		}
	}
	var first divergence.Difference
	found, err := divergence.Compare(nil, laneObjects, p.all(ctx), func() bool { return p.err == nil },
		func(d divergence.Difference) {
			if first.Key == "" {
				first = d
			}
		})
	switch {
	case p.err != nil:
		return fmt.Errorf("list the upstream's objects at the journal's resourceVersion: %w", p.err)
	case err != nil:
		return err
	case found.Different > 0:
		return fmt.Errorf("%w: %d objects differ, the first one: %s", errUnchecked, found.Different, first)
	}
	return nil
}

// roll lists the names and versions of objects at one exact resourceVersion, page by page.
type roll struct {
	client   *upstream.Client
	resource upstream.Resource
	rv       string
	moved    func() // called after each page
	err      error  // why the list ended early; nil if it is complete
}

func (p *roll) all(ctx context.Context) iter.Seq[divergence.Object] {
	return func(yield func(divergence.Object) bool) {
		query := url.Values{"limit": {strconv.Itoa(checkedObjects)}, "resourceVersion": {p.rv},
			"resourceVersionMatch": {"Exact"}}
		for {
			body, err := p.client.Get(ctx, upstream.Target{Path: p.resource.Path(""), Query: query}, mediaPartialList, heldBytes)
			if err != nil {
				p.err = err
				return
			}
			p.moved()
			list, err := decodeRoll(body)
			if err == nil && list.ResourceVersion != p.rv {
				err = fmt.Errorf("list has resourceVersion %q instead of %s", list.ResourceVersion, p.rv)
			}
			if err != nil {
				p.err = err
				return
			}
			for _, item := range list.Items {
				key := item.Name
				if item.Namespace != "" {
					key = item.Namespace + "/" + key
				}
				if !yield(divergence.Object{Key: key, Version: item.ResourceVersion}) {
					return
				}
			}
			if list.Continue == "" {
				return
			}
			query = url.Values{"limit": {strconv.Itoa(checkedObjects)}, "continue": {list.Continue}}
		}
	}
}

type readAhead struct {
	step step
	err  error
}

// look starts a goroutine that reads the first step. The first call of next then returns this step. Only one goroutine
// may call next.
func (s *stream) look() {
	s.ahead = make(chan readAhead, 1)
	go func() {
		st, err := s.read()
		st.frame = nil // the stream reuses the bytes
		s.ahead <- readAhead{st, err}
	}()
}

// awaitFailure waits until look has read the first step, but at most grace. It returns the error if the stream failed.
func (s *stream) awaitFailure(grace time.Duration) error {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case first := <-s.ahead:
		s.ahead <- first
		if first.err == io.EOF { //nolint:errorlint // a clean end is not an error: the watch is resumed
			return nil
		}
		return first.err
	case <-timer.C:
		return nil
	}
}
