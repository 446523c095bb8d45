package cache

import "sync/atomic"

// Stats is a lane in numbers. Gauges are as of the call; the rest counts since the lane was made.
type Stats struct {
	RV           RV
	Objects      int
	ObjectBytes  int64 // of the objects as they came, and of what is known of them
	ObjectMemory int64 // of memory that they take: less where they are packed
	Indexes      int   // in all
	OwnIndexes   int   // those of them that the lane has built by itself
	IndexBytes   int64 // of all, beside the objects
	HistoryBytes int64 // kept alive by history only
	FillBytes    int64 // of memory that a list takes that is on its way, or a Restoration with its history
	Oldest       RV    // the smallest RV that can be watched from or read
	Feeds        int64
	Watchers     int64
	Lag          int64  // events that were written and feeds have not been offered yet
	Applied      uint64 // upstream events taken
	Relists      uint64 // epochs begun
	Replayed     uint64 // gaps bridged within an epoch
	Expired      uint64 // watchers whose place history lost
	Indexed      uint64 // indexes that the lane has built by itself so far
}

type counters struct {
	feeds, watchers           atomic.Int64
	applied, relists, expired atomic.Uint64
	replayed                  atomic.Uint64
	saved                     atomic.Int64 // bytes that packing saves of the State; written with Lane.writing held
	sparse                    atomic.Int64 // blocks that objects have left since they were last gathered
	filling                   atomic.Int64 // bytes of a list that is on its way
	indexed                   atomic.Uint64
}

// Memory returns about how many bytes the lane takes, with the list that is on its way.
func (s *Stats) Memory() int64 { return s.ObjectMemory + s.IndexBytes + s.HistoryBytes + s.FillBytes }

// Stats returns the lane's numbers. It is cheap enough for every scrape.
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

// indexBytes returns how many bytes all indexes take.
func (s *State) indexBytes() (bytes int64) {
	for i := range s.indexes {
		bytes += s.indexes[i].bytes()
	}
	return bytes
}
