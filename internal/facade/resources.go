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

// Resource is what is different for one resource. Zero fields are as for all.
type Resource struct {
	// Preload are the encodings that it is cached in from the start, json and protobuf or one of them; none: it is
	// cached when it is first asked for, unless Config.Preload names it.
	Preload []string
	// Cached says whether it is cached at all, or always passed through; nil: as Config.Uncached says.
	Cached *bool
	// FieldIndexes and LabelIndexes come on top of those for all.
	FieldIndexes, LabelIndexes []string
	// HistoryWindow and HistoryBytes are as in Config.
	HistoryWindow time.Duration
	HistoryBytes  int64
	// MemoryBudget is how many bytes it may take in each encoding; 0 is any number. What takes more is passed through,
	// and tried again after half an hour.
	MemoryBudget int64
}

// leastOwnMemory is the least that a resource may be told to take: it is not looked more often.
const leastOwnMemory = 1 << 20

// validate refuses what cannot be meant.
func (r Resource) validate() error {
	for _, name := range r.Preload {
		if encodings[name] == nil {
			return fmt.Errorf("preload %q: json or protobuf", name)
		}
	}
	never := r.Cached != nil && !*r.Cached
	r.Cached = nil
	switch {
	case never && !reflect.DeepEqual(r, Resource{}):
		return errors.New("what is not cached has no other settings")
	case r.HistoryWindow < 0 || r.HistoryBytes < 0:
		return errors.New("a history must be above 0")
	case r.MemoryBudget < 0 || r.MemoryBudget > 0 && r.MemoryBudget < leastOwnMemory:
		return fmt.Errorf("a memory budget must be at least %d bytes", leastOwnMemory)
	}
	return nil
}

func (c Config) validateResources() error {
	uncached := c.uncached()
	for resource, own := range c.Resources {
		err := own.validate()
		if err == nil && uncached[resource] && len(own.Preload) > 0 {
			err = errors.New("it is to be cached from the start, and never")
		}
		if err != nil {
			return fmt.Errorf("resource %s: %w", resource, err)
		}
	}
	return nil
}

// uncached are the resources that are always passed through.
func (c Config) uncached() map[schema.GroupResource]bool {
	set := groupResources(c.Uncached)
	for resource, own := range c.Resources {
		if own.Cached != nil {
			set[resource] = !*own.Cached
		}
	}
	return set
}

// wanted are the resources to cache from the start, in their order, each in its encodings.
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

// laneResources are the lanes' part of the settings of resources.
func (c Config) laneResources() map[schema.GroupResource]reflector.Resource {
	own := map[schema.GroupResource]reflector.Resource{}
	for resource, r := range c.Resources {
		own[resource] = reflector.Resource{
			Window: r.HistoryWindow, WindowBytes: r.HistoryBytes, FieldIndexes: r.FieldIndexes, LabelIndexes: r.LabelIndexes, Memory: r.MemoryBudget,
		}
	}
	return own
}
