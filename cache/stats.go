package cache

import "sync/atomic"

// Stats contains the numbers of a lane. Counters count since the lane was created.
type Stats struct {
	RV           RV
	Objects      int
	ObjectBytes  int64 // bytes of the objects without packing, with their attributes
	ObjectMemory int64 // bytes of memory that the objects take; less than ObjectBytes when packed
	Indexes      int   // number of all indexes
	OwnIndexes   int   // number of indexes that the lane has built
	IndexBytes   int64 // bytes of all indexes, without the objects
	HistoryBytes int64 // bytes that only history keeps alive
	FillBytes    int64 // bytes of a list that is arriving, or of a Restoration with its history
	Oldest       RV    // smallest RV at which an exact read or a watch can start
	Feeds        int64
	Watchers     int64
	Lag          int64  // written events that were not offered to the feeds yet
	Applied      uint64 // upstream events applied
	Relists      uint64 // epochs begun
	Replayed     uint64 // lists that were replayed within an epoch
	Expired      uint64 // watchers that ended because history had dropped their position, or at a lost window
	Indexed      uint64 // indexes that the lane has built so far
}

type counters struct {
	feeds, watchers           atomic.Int64
	applied, relists, expired atomic.Uint64
	replayed                  atomic.Uint64
	saved                     atomic.Int64 // bytes that packing saves in the State; written while Lane.writing is held
	sparse                    atomic.Int64 // blocks that became partly unused since gather last moved objects
	filling                   atomic.Int64 // bytes of a list that is arriving
	indexed                   atomic.Uint64
}

// Memory returns about how many bytes the lane takes, including a list that is arriving.
func (s *Stats) Memory() int64 { return s.ObjectMemory + s.IndexBytes + s.HistoryBytes + s.FillBytes }

// Stats returns the lane's numbers. It is cheap enough for every scrape of metrics.
func (l *Lane) Stats() Stats {
	stats := Stats{
		Feeds:     l.counters.feeds.Load(),
		Watchers:  l.counters.watchers.Load(),
		Applied:   l.counters.applied.Load(),
		Relists:   l.counters.relists.Load(),
		Replayed:  l.counters.replayed.Load(),
		Expired:   l.counters.expired.Load(),
		FillBytes: l.counters.filling.Load(),
		Indexed:   l.counters.indexed.Load(),
	}
	if s := l.state.Load(); s != nil {
		stats.RV = s.rv
		stats.Objects = s.Len()
		stats.ObjectBytes = s.size
		stats.ObjectMemory = s.size - l.counters.saved.Load()
		stats.Indexes = len(s.indexes)
		stats.IndexBytes = s.indexBytes()
		for i := range s.indexes {
			if s.indexes[i].demand != nil {
				stats.OwnIndexes++
			}
		}
		stats.HistoryBytes = s.epoch.history.bytes.Load()
		stats.Oldest = s.epoch.history.oldest()
		stats.Lag = s.epoch.feeds.lag(s.seq)
	}
	return stats
}

func (s *State) indexBytes() (bytes int64) {
	for i := range s.indexes {
		bytes += s.indexes[i].bytes()
	}
	return bytes
}
