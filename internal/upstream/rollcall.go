package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/listfacade/listfacade/cache"
)

const (
	mediaPartialList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
	// rollCallObjects is up to how many objects a lane is called over when several want to know: that many names and versions
	// take kube-apiserver about ten milliseconds.
	rollCallObjects = 500
	// rollCallAlone is up to how many when one does, who may want but a few of them.
	rollCallAlone = 100
	// rollCallLimit bounds an answer in bytes: 16 KiB of metadata for each object. What is longer costs more than it proves.
	rollCallLimit = 8 << 20
	// rollCallPause is how long no roll is called after one that failed.
	rollCallPause = 30 * time.Second
)

// rollCall is the name and version of every object that the upstream had at rv: enough to tell whether a lane has the same,
// in one question, however quiet the resource is.
type rollCall struct {
	rv       cache.RV
	versions map[string]cache.RV // by key
}

// matches tells whether a State holds exactly the objects that were called.
func (c *rollCall) matches(s *cache.State) bool {
	if s.Len() != len(c.versions) {
		return false
	}
	for key, rv := range c.versions {
		if o, ok := s.Get(key); !ok || o.RV != rv {
			return false
		}
	}
	return true
}

// callRoll asks for a roll call of the lane's resource. It is a consistent read (semantics 2.1).
func (f *freshness) callRoll(ctx context.Context) (*rollCall, error) {
	f.metrics.Questioned("rollcall")
	resource := f.lane.Resource
	body, err := f.client.Get(ctx, Target{Path: resource.Path("")}, mediaPartialList, rollCallLimit)
	if err != nil {
		return nil, fmt.Errorf("call the roll: %w", err)
	}
	call, err := readRoll(body)
	if err != nil {
		return nil, fmt.Errorf("call the roll: %w", err)
	}
	return call, nil
}

func readRoll(body []byte) (*rollCall, error) {
	type meta struct{ Namespace, Name, ResourceVersion, Continue string }
	var list struct {
		Metadata meta
		Items    []struct{ Metadata meta }
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	rv, err := cache.ParseRV(list.Metadata.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if rv == 0 || list.Metadata.Continue != "" {
		return nil, fmt.Errorf("the list at %q is not whole", list.Metadata.ResourceVersion)
	}
	call := &rollCall{rv: rv, versions: make(map[string]cache.RV, len(list.Items))}
	for _, item := range list.Items {
		key := item.Metadata.Name
		if item.Metadata.Namespace != "" {
			key = item.Metadata.Namespace + "/" + key
		}
		if call.versions[key], err = cache.ParseRV(item.Metadata.ResourceVersion); err != nil {
			return nil, err
		}
	}
	return call, nil
}

// callable tells whether the lane is small enough to be called over, and its upstream able to.
func (f *freshness) callable() bool {
	most := rollCallObjects
	if f.readers.Load() <= 1 {
		most = rollCallAlone
	}
	state, err := f.lane.Cache.State()
	return err == nil && state.Len() <= most && time.Now().UnixNano() >= f.mute.Load()
}

// spare keeps the next readers from what failed for this one: for some time, or for ever when it would fail again.
func (f *freshness) spare(err error) {
	until := time.Now().Add(rollCallPause).UnixNano()
	var oversize *OversizeError
	if HasCode(err, http.StatusNotAcceptable, http.StatusBadRequest) || errors.As(err, &oversize) {
		until = math.MaxInt64
	}
	f.mute.Store(until)
}

// attend calls the roll and waits, a moment only, until the lane has what was called: its events are on their way.
func (f *freshness) attend(ctx context.Context, held cache.RV) (*cache.State, error) {
	call, err := f.rolls.get(ctx)
	if err != nil {
		if ctx.Err() == nil {
			f.spare(err)
		}
		return nil, err
	}
	if call.rv < held {
		f.lane.reader.setBack()
		return nil, errRestored
	}
	for deadline := time.Now().Add(grace); ; {
		state, err := f.lane.Cache.State()
		if err != nil {
			return nil, err
		}
		if f.holds(state, call.rv) {
			return state, nil
		}
		if call.matches(state) {
			if vouched := f.lane.Cache.Vouch(state, call.rv); vouched != nil {
				return vouched, nil
			}
			return nil, ErrUnproven
		}
		if _, err := f.lane.Cache.WaitFor(ctx, state.RV()+1, time.Until(deadline)); err != nil {
			return nil, ErrUnproven
		}
	}
}
