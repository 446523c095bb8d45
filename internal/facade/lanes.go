package facade

import (
	"github.com/listfacade/listfacade/internal/metrics"
)

// Lanes returns the statistics of all running lanes.
func (f *Facade) Lanes() []metrics.LaneStats {
	var all []metrics.LaneStats
	for _, lane := range f.lanes.All() {
		s := lane.Cache.Stats()
		_, err := lane.Cache.State()
		gvr := lane.Resource.GVR
		progress, _ := lane.Progress()
		all = append(all, metrics.LaneStats{
			Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Encoding: lane.Encoding.Name(), Began: lane.Began(),
			Synced:   err == nil,
			AuditAge: lane.Unaudited(), Differing: lane.Differing(),
			StaleSeconds: lane.StaleFor().Seconds(), ResourceVersion: uint64(s.RV), Objects: s.Objects,
			ObjectBytes:  s.ObjectBytes,
			ObjectMemory: s.ObjectMemory,
			Indexes:      s.Indexes, OwnIndexes: s.OwnIndexes, IndexBytes: s.IndexBytes, Indexed: s.Indexed,
			Filled: progress.Objects, Expected: progress.Expected,
			HistoryBytes: s.HistoryBytes + lane.OlderBytes(), FillBytes: s.FillBytes + lane.PageBytes(), Feeds: int(s.Feeds),
			Watchers: int(s.Watchers), Lag: s.Lag,
			Epochs: s.Relists, Applied: s.Applied, Expired: s.Expired,
		})
	}
	return all
}
