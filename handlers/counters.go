package handlers

import (
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/observe"
)

// Counters counts events that are not stages of a request. Its methods are safe for concurrent use.
type Counters interface {
	// Watch returns the meter of a watch that the cache serves. A nil meter counts nothing.
	Watch(e *observe.Event) *metrics.WatchMeter
	// Checked receives the result of a health check in a probe.
	Checked(check, probe string, err error)
}

type discardCounters struct{}

func (discardCounters) Watch(*observe.Event) *metrics.WatchMeter { return nil }

func (discardCounters) Checked(string, string, error) {}
