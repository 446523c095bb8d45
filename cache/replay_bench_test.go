package cache

import (
	"math"
	"slices"
	"testing"
	"time"
)

// BenchmarkReplay replays a lost window in which half of the objects changed. waited-ms is the longest wait of a Vouch
// in the best run: Vouch takes the writers' lock, and readers wait for it.
func BenchmarkReplay(b *testing.B) {
	objects := make([]*Object, benchPods)
	for i := range objects {
		objects[i] = benchPod(i, RV(i+1))
	}
	list := slices.Clone(objects)
	for i := range benchPods / 2 {
		list[2*i] = benchPod(2*i, RV(benchPods+1+i))
	}
	least := time.Duration(math.MaxInt64)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		l := NewLane(Options{Indexes: []Index{FieldIndex(nodeField)}})
		l.verifying = false
		l.Replace(benchPods, shape, objects)
		expected := l.Expect()
		over, waited := make(chan struct{}), make(chan time.Duration)
		go func() { waited <- longestVouch(l, over) }()
		b.StartTimer()
		err := l.Replay(2*benchPods, list)
		b.StopTimer()
		close(over)
		least = min(least, <-waited)
		expected()
		l.Close()
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(least.Microseconds())/1000, "waited-ms")
}

// longestVouch calls Vouch repeatedly and returns the longest duration.
func longestVouch(l *Lane, over <-chan struct{}) (longest time.Duration) {
	for {
		select {
		case <-over:
			return longest
		case <-time.After(time.Millisecond):
		}
		began := time.Now()
		if s, err := l.State(); err == nil {
			l.Vouch(s, s.RV()+1)
		}
		longest = max(longest, time.Since(began))
	}
}

// BenchmarkResume resumes a watch of one node after 10,000 events of other nodes.
func BenchmarkResume(b *testing.B) {
	l := NewLane(Options{})
	l.verifying = false
	defer l.Close()
	l.Replace(1, shape, nil)
	for i := range 10_000 {
		apply(b, l, Upsert, benchPod(i, RV(i+2)))
	}
	p := selecting(b, "", "", "spec.nodeName=elsewhere")
	b.ReportAllocs()
	for b.Loop() {
		w, err := l.Watch(WatchOptions{Predicate: p, Start: AfterRV(1)})
		if err != nil {
			b.Fatal(err)
		}
		if _, ok := w.Next(); ok {
			b.Fatal("got an event, want none")
		}
		w.Close()
	}
}
