package observe

import "github.com/prometheus/client_golang/prometheus"

// FormsStats is what the compressed parts of lists tell about themselves at a scrape.
type FormsStats struct {
	Bytes, Kept          int64 // at the moment
	Found, Made, Evicted int64 // since the start
}

// FormsSource tells the numbers of the moment.
type FormsSource func() FormsStats

type formsCollector struct {
	read    FormsSource
	metrics []formsMetric
}

type formsMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(FormsStats) int64
}

func newFormsCollector(read FormsSource) *formsCollector {
	c := &formsCollector{read: read}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	c.add(gauge, "bytes", "Bytes of lists that are kept compressed.", func(s FormsStats) int64 { return s.Bytes })
	c.add(gauge, "kept", "Parts of lists that are kept compressed.", func(s FormsStats) int64 { return s.Kept })
	c.add(counter, "found_total", "Parts of lists that were sent as they were compressed before.", func(s FormsStats) int64 { return s.Found })
	c.add(counter, "made_total", "Parts of lists that were compressed to be kept.", func(s FormsStats) int64 { return s.Made })
	c.add(counter, "evicted_total", "Kept parts of lists that had to go for others.", func(s FormsStats) int64 { return s.Evicted })
	return c
}

func (c *formsCollector) add(kind prometheus.ValueType, name, help string, of func(FormsStats) int64) {
	c.metrics = append(c.metrics, formsMetric{desc: prometheus.NewDesc("listfacade_forms_"+name, help, nil, nil), kind: kind, of: of})
}

// Describe implements prometheus.Collector.
func (c *formsCollector) Describe(out chan<- *prometheus.Desc) {
	for _, metric := range c.metrics {
		out <- metric.desc
	}
}

// Collect implements prometheus.Collector.
func (c *formsCollector) Collect(out chan<- prometheus.Metric) {
	stats := c.read()
	for _, metric := range c.metrics {
		out <- prometheus.MustNewConstMetric(metric.desc, metric.kind, float64(metric.of(stats)))
	}
}
