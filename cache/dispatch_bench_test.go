package cache

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listfacade/listfacade/selectors"
)

// labelledPod returns benchPod's pod with realistic labels: twenty pods share an instance, all share app and tier.
func labelledPod(i int, rv RV) *Object {
	return labelled(benchPod(i, rv), []selectors.Label{
		{Key: "instance", Value: fmt.Sprintf("instance-%04d", i%benchNodes)},
		{Key: "managed-by", Value: "Helm"},
		{Key: "pod-template-hash", Value: fmt.Sprintf("hash-%04d", i%benchNodes)},
		{Key: "tier", Value: "web"},
		{Key: "version", Value: fmt.Sprintf("v%d", i%7)},
	}...)
}

func labelledLane(pods int, o Options) *Lane {
	objects := make([]*Object, pods)
	for i := range objects {
		objects[i] = labelledPod(i, RV(i+1))
	}
	o.HistoryBytes = 64 << 20
	l := NewLane(o)
	l.verifying = false
	l.Replace(RV(pods), shape, objects)
	return l
}

// instanceSelector returns one of five thousand selectors, in the notations that controllers use.
func instanceSelector(i int) string {
	switch i % 4 {
	case 0:
		return fmt.Sprintf("instance=instance-%04d", i)
	case 1:
		return fmt.Sprintf("tier=web,instance=instance-%04d", i)
	case 2:
		return fmt.Sprintf("instance in (instance-%04d,none),tier!=db", i)
	default:
		return fmt.Sprintf("managed-by,pod-template-hash=hash-%04d", i)
	}
}

// BenchmarkSelectorWatchers writes 100,000 pods at a fixed rate with 5,000 watches, each with another label selector.
// It reports the time of events from Apply to Watcher.Next.
func BenchmarkSelectorWatchers(b *testing.B) {
	for _, rate := range []int{5_000, 10_000} {
		b.Run(fmt.Sprint(rate, " a second"), func(b *testing.B) { benchmarkSelectorWatchers(b, rate, nil) })
	}
	b.Run("5000 a second with 1000 unanchored feeds", func(b *testing.B) {
		var others []string
		for i := range 1000 {
			others = append(others, fmt.Sprintf("team!=team-%04d", i))
		}
		benchmarkSelectorWatchers(b, 5_000, others)
	})
}

func benchmarkSelectorWatchers(b *testing.B, rate int, others []string) {
	l, watchers := labelledLane(benchPods, Options{}), benchNodes
	for _, selector := range others {
		watch(b, l, selecting(b, "", selector, ""), FromNow())
	}
	todo, applied := make([]Change, b.N), make([]time.Time, b.N)
	for i := range todo {
		todo[i] = Change{Upsert, labelledPod(i*7919%benchPods, RV(benchPods+1+i))}
	}
	delays := make([][]time.Duration, watchers)
	var readers sync.WaitGroup
	for i := range watchers {
		w := watch(b, l, selecting(b, "", instanceSelector(i), ""), FromNow())
		want := 0
		for n := range b.N {
			if n*7919%benchPods%benchNodes == i {
				want++
			}
		}
		readers.Go(func() {
			for len(delays[i]) < want {
				e, ok := w.Next()
				if ok {
					delays[i] = append(delays[i], time.Since(applied[e.RV-benchPods-1]))
				} else if w.Err() != nil {
					return
				} else {
					<-w.Wait()
				}
			}
		})
	}
	b.ResetTimer()
	start := time.Now()
	for i, c := range todo {
		if due := start.Add(time.Duration(i) * time.Second / time.Duration(rate)); i%16 == 0 {
			time.Sleep(time.Until(due)) //nolint:forbidigo // a rate of writes
		}
		applied[i] = time.Now()
		if err := l.Apply(c); err != nil {
			b.Fatal(err)
		}
	}
	readers.Wait()
	b.StopTimer()
	all := slices.Concat(delays...)
	slices.Sort(all)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	if len(all) > 0 {
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
	}
	if len(all) < b.N {
		b.ReportMetric(float64(b.N-len(all)), "lost")
	}
}

// BenchmarkOpen opens and closes a watch with its own feed among 10,000 others.
func BenchmarkOpen(b *testing.B) {
	for name, selector := range map[string]string{
		"one value": "instance=i", "three values": "app=a,tier=web,instance=i", "set": "app in (a,b,c)", "none": "app!=a", "all": "",
	} {
		b.Run(name, func(b *testing.B) {
			l := labelledLane(20_000, Options{})
			for i := range 10_000 {
				watch(b, l, selecting(b, "", fmt.Sprintf("%s-%d", "team!=t", i), ""), FromNow())
			}
			p := selecting(b, "namespace-07", selector, "")
			b.ReportAllocs()
			for b.Loop() {
				w, err := l.Watch(WatchOptions{Predicate: p, Start: FromNow()})
				if err != nil {
					b.Fatal(err)
				}
				w.Close()
			}
		})
	}
}

// BenchmarkOpenDuringEvents opens and closes watches while 10,000 feeds without an anchor are evaluated for events. It
// reports the 99th percentile.
func BenchmarkOpenDuringEvents(b *testing.B) {
	l := labelledLane(1000, Options{})
	for i := range 10_000 {
		watch(b, l, selecting(b, "", fmt.Sprint("team!=t", i), ""), FromNow())
	}
	var stop atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; !stop.Load(); i++ {
			_ = l.Apply(Change{Upsert, labelledPod(i%1000, RV(1001+i))})
			time.Sleep(time.Millisecond) //nolint:forbidigo // a rate of writes
		}
	})
	var took []time.Duration
	p := selecting(b, "", "instance=i", "")
	for b.Loop() {
		start := time.Now()
		w, err := l.Watch(WatchOptions{Predicate: p, Start: FromNow()})
		if err != nil {
			b.Fatal(err)
		}
		w.Close()
		took = append(took, time.Since(start))
	}
	stop.Store(true)
	writer.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}

// BenchmarkFeedMemory reports the memory of each of 5,000 feeds with its watcher.
func BenchmarkFeedMemory(b *testing.B) {
	l := labelledLane(1000, Options{})
	predicates := make([]*selectors.Predicate, benchNodes)
	for i := range predicates {
		predicates[i] = selecting(b, "", fmt.Sprintf("instance=instance-%04d", i), "")
	}
	watchers := make([]*Watcher, len(predicates))
	for b.Loop() {
		before := heap()
		for i, p := range predicates {
			watchers[i] = watch(b, l, p, FromNow())
		}
		b.ReportMetric(float64(heap()-before)/float64(len(predicates)), "heap-B/feed")
		for _, w := range watchers {
			w.Close()
		}
	}
}
