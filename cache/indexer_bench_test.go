package cache

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkListByLabel lists twenty objects by a label, and a first page of ten, with and without an index that the
// lane has built.
func BenchmarkListByLabel(b *testing.B) {
	for _, pods := range []int{20_000, benchPods} {
		p := selecting(b, "", "tier=web,instance=instance-0042", "")
		l := labelledLane(pods, Options{})
		want := pods / benchNodes
		list := func(b *testing.B) {
			s := current(b, l).Selection(p, "")
			for range s.Runs() {
				continue
			}
			if s.Selected != want {
				b.Fatalf("got %d objects", s.Selected)
			}
		}
		b.Run(fmt.Sprint(pods, "/first times"), func(b *testing.B) {
			l.indexer.terms.most = 0
			for b.Loop() {
				list(b)
			}
		})
		b.Run(fmt.Sprint(pods, "/first times, limit"), func(b *testing.B) {
			for b.Loop() {
				current(b, l).Chunk(p, "", want/2)
			}
		})
		l.indexer.terms = defaultIndexTerms
		for range 20 {
			list(b)
			l.indexer.running.Wait()
		}
		b.Run(fmt.Sprint(pods, "/indexed"), func(b *testing.B) {
			for b.Loop() {
				list(b)
			}
			b.ReportMetric(float64(l.Stats().IndexBytes), "index-B")
		})
		b.Run(fmt.Sprint(pods, "/indexed, limit"), func(b *testing.B) {
			for b.Loop() {
				current(b, l).Chunk(p, "", want/2)
			}
		})
	}
}

// BenchmarkBuildIndex builds an index of 100,000 objects while a writer applies 2,000 events a second. It reports the
// 99th percentile of the events' duration.
func BenchmarkBuildIndex(b *testing.B) {
	l := labelledLane(benchPods, Options{})
	var stop atomic.Bool
	var took []time.Duration
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; !stop.Load(); i++ {
			o := labelledPod(i*7919%benchPods, RV(benchPods+1+i))
			start := time.Now()
			_ = l.Apply(Change{Upsert, o})
			took = append(took, time.Since(start))
			time.Sleep(500 * time.Microsecond) //nolint:forbidigo // a rate of writes
		}
	})
	x := &l.indexer
	for b.Loop() {
		x.build(&demand{property: LabelIndex("instance").property}, nil)
		if l.Stats().OwnIndexes != 1 {
			b.Fatal("got no index")
		}
		l.writing.Lock()
		s := l.state.Load()
		l.reindex(s, without(s.indexes, s.indexes[0].demand))
		l.writing.Unlock()
	}
	stop.Store(true)
	writer.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "apply-p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "apply-p99-ms")
}
