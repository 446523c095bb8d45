package metrics

import "github.com/prometheus/client_golang/prometheus"

// PrecompressedStats are the numbers of the precompressed pages at a scrape.
type PrecompressedStats struct {
	Bytes, Kept          int64 // bytes and number of pages in memory
	Found, Made, Evicted int64 // pages since the start of the facade
}

// PrecompressedSource returns the current numbers.
type PrecompressedSource func() PrecompressedStats

type precompressedCollector struct {
	read    PrecompressedSource
	metrics []precompressedMetric
}

type precompressedMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(PrecompressedStats) int64
}

func newPrecompressedCollector(read PrecompressedSource) *precompressedCollector {
	c := &precompressedCollector{read: read}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	c.add(gauge, "bytes", "Bytes of precompressed pages.", func(s PrecompressedStats) int64 { return s.Bytes })
	c.add(gauge, "kept", "Precompressed pages in memory.", func(s PrecompressedStats) int64 { return s.Kept })
	c.add(counter, "found_total", "Pages of lists that were sent precompressed.",
		func(s PrecompressedStats) int64 { return s.Found })
	c.add(counter, "made_total", "Pages of lists that were compressed and stored in memory.",
		func(s PrecompressedStats) int64 { return s.Made })
	c.add(counter, "evicted_total", "Precompressed pages that were evicted to make space for others.",
		func(s PrecompressedStats) int64 { return s.Evicted })
	return c
}

func (c *precompressedCollector) add(kind prometheus.ValueType, name, help string, of func(PrecompressedStats) int64) {
	c.metrics = append(c.metrics,
		precompressedMetric{desc: prometheus.NewDesc("listfacade_precompressed_pages_"+name, help, nil, nil), kind: kind,
			of: of})
}

func (c *precompressedCollector) Describe(out chan<- *prometheus.Desc) {
	for _, metric := range c.metrics {
		out <- metric.desc
	}
}

func (c *precompressedCollector) Collect(out chan<- prometheus.Metric) {
	stats := c.read()
	for _, metric := range c.metrics {
		out <- prometheus.MustNewConstMetric(metric.desc, metric.kind, float64(metric.of(stats)))
	}
}
