package metrics

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Concurrent scrapes count each event once: older values of a lane are never added after newer ones.
func TestConcurrentScrapesCountOnce(t *testing.T) {
	const scrapers, scrapes = 4, 250
	var looks atomic.Int64
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newWatchCacheCollector(func() []LaneStats {
		look := looks.Add(1) - 1
		runtime.Gosched()
		// Each lane is scraped twice, with one more event the second time.
		return []LaneStats{{Version: "v1", Resource: "pods", Synced: true, Began: time.Unix(look/2, 0), Applied: uint64(1 + look%2)}}
	}))
	var scraping sync.WaitGroup
	for range scrapers {
		scraping.Go(func() {
			for range scrapes - 1 {
				received(t, registry)
			}
		})
	}
	scraping.Wait()
	var last float64
	for range scrapers {
		last = received(t, registry)
	}
	if last != scrapers*scrapes {
		t.Errorf("got %v events, want %d", last, scrapers*scrapes)
	}
}

// received returns the total of received events in a scrape.
func received(t *testing.T, from prometheus.Gatherer) (events float64) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Error(err)
	}
	for _, family := range families {
		if family.GetName() != "apiserver_watch_cache_events_received_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			events += metric.GetCounter().GetValue()
		}
	}
	return events
}
