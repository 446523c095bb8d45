package main

import (
	"context"
	"errors"

	"github.com/listfacade/listfacade/handlers"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
)

// checks are the conditions of health. Only readiness depends on the upstream: a restart of the facade would not mend it.
func (f *facade) checks(draining context.Context) []handlers.Check {
	alive := []string{"healthz", "livez", "readyz"}
	ready := []string{"readyz"}
	return []handlers.Check{
		{Name: "ping", Probes: alive, Healthy: func() error { return nil }},
		{Name: "discovery", Probes: ready, Healthy: func() error {
			if !f.catalog.Known() {
				return errors.New("the upstream's discovery was not read yet")
			}
			return nil
		}},
		{Name: "preload", Probes: ready, Healthy: func() error {
			if !f.preload.synced.Load() {
				return errors.New("not every preloaded resource is synced")
			}
			return nil
		}},
		{Name: "shutdown", Probes: ready, Healthy: draining.Err},
	}
}

// laneStats are the lanes in numbers, for a scrape.
func laneStats(lanes *reflector.Lanes) []observe.LaneStats {
	if lanes == nil {
		return nil
	}
	var all []observe.LaneStats
	for _, lane := range lanes.All() {
		s := lane.Cache.Stats()
		_, err := lane.Cache.State()
		gvr := lane.Resource.GVR
		all = append(all, observe.LaneStats{
			Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Synced: err == nil,
			StaleSeconds: lane.StaleFor().Seconds(), ResourceVersion: uint64(s.RV), Objects: s.Objects, ObjectBytes: s.ObjectBytes,
			HistoryBytes: s.HistoryBytes, Feeds: int(s.Feeds), Watchers: int(s.Watchers), Applied: s.Applied, Expired: s.Expired,
		})
	}
	return all
}
