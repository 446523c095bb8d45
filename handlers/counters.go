package handlers

import (
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/observe"
)

// Counters counts events that are not stages of a request. Its methods are safe for concurrent use.
type Counters interface {
	// Watch returns the meter of a watch that the cache serves; nil counts nothing.
	Watch(e *observe.Event) *metrics.WatchMeter
	// Checked receives the result of a health check in a probe.
	Checked(check, probe string, err error)
}

// discardCounters is a Counters that ignores everything.
type discardCounters struct{}

// Watch implements Counters.
func (discardCounters) Watch(*observe.Event) *metrics.WatchMeter { return nil }

// Checked implements Counters.
func (discardCounters) Checked(string, string, error) {}
