package facade

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/reflector"
)

// Resource are the settings of one resource. A zero field means the setting for all resources.
type Resource struct {
	// Preload are the encodings in which the resource is cached from the start: json and protobuf, or one of them. If
	// empty, the resource is cached on first use, unless Config.Preload contains it.
	Preload []string
	// Cached is true to cache the resource, and false to forward all requests for it. If nil, Config.Uncached decides.
	Cached *bool
	// FieldIndexes and LabelIndexes are added to the indexes for all resources.
	FieldIndexes, LabelIndexes []string
	// HistoryWindow and HistoryBytes are as in Config.
	HistoryWindow time.Duration
	HistoryBytes  int64
	// MemoryBudget is the maximum memory of the resource in each encoding, in bytes; 0 means no limit. Requests for a
	// larger resource are forwarded for half an hour. After that, the resource is cached again if it fits.
	MemoryBudget int64
}

// leastOwnMemory is the minimum of Resource.MemoryBudget, in bytes. A smaller limit would have no effect, because the
// memory is checked once per MiB of growth.
const leastOwnMemory = 1 << 20

func (r Resource) validate() error {
	if err := checkEncodings("preload", r.Preload); err != nil {
		return err
	}
	never := r.Cached != nil && !*r.Cached
	r.Cached = nil
	switch {
	case never && !reflect.DeepEqual(r, Resource{}):
		return errors.New("an uncached resource must have no other settings")
	case r.HistoryWindow < 0 || r.HistoryBytes < 0:
		return errors.New("history window and bytes must not be below 0")
	case r.MemoryBudget < 0 || r.MemoryBudget > 0 && r.MemoryBudget < leastOwnMemory:
		return fmt.Errorf("memory budget must be 0 or at least %d bytes", leastOwnMemory)
	}
	return nil
}

func (c Config) validateResources() error {
	uncached := c.uncached()
	for resource, own := range c.Resources {
		err := own.validate()
		if err == nil && uncached[resource] && len(own.Preload) > 0 {
			err = errors.New("the resource is both preloaded and uncached")
		}
		if err != nil {
			return fmt.Errorf("resource %s: %w", resource, err)
		}
	}
	return nil
}

// uncached returns the resources that are always forwarded.
func (c Config) uncached() map[schema.GroupResource]bool {
	set := groupResources(c.Uncached)
	for resource, own := range c.Resources {
		if own.Cached != nil {
			set[resource] = !*own.Cached
		}
	}
	return set
}

// wanted returns the resources to cache from the start. The resources of Preload come first.
func (c Config) wanted() []wanted {
	var all []wanted
	for _, name := range c.Preload {
		all = append(all, wanted{name: name, in: encodingsOf(c.PreloadEncodings)})
	}
	for _, resource := range slices.SortedFunc(maps.Keys(c.Resources), compareResources) {
		if in := c.Resources[resource].Preload; len(in) > 0 {
			all = append(all, wanted{name: resource.String(), in: encodingsOf(in)})
		}
	}
	return all
}

func compareResources(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) }

func (c Config) laneResources() map[schema.GroupResource]reflector.Resource {
	own := map[schema.GroupResource]reflector.Resource{}
	for resource, r := range c.Resources {
		own[resource] = reflector.Resource{
			Window: r.HistoryWindow, WindowBytes: r.HistoryBytes, FieldIndexes: r.FieldIndexes, LabelIndexes: r.LabelIndexes,
			Memory: r.MemoryBudget,
		}
	}
	return own
}
