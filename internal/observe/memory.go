package observe

import "github.com/prometheus/client_golang/prometheus"

// MemoryStats is what the memory budget tells about itself at a scrape.
type MemoryStats struct {
	Budget       int64 // bytes; 0: none
	Used, Mapped int64
	Accounted    map[string]int64 // bytes, by account
	Relieved     map[string]int64 // how often something was let go, by step
	RelievedOf   map[string]int64 // and of how many bytes
	Refused      map[string]int64 // how often there was no memory, by what for
}

// MemorySource tells the numbers of the moment.
type MemorySource func() MemoryStats

type memoryCollector struct {
	read                                                            MemorySource
	budget, used, mapped, accounted, relieved, relievedOf, refusals *prometheus.Desc
}

func newMemoryCollector(read MemorySource) *memoryCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("listfacade_memory_"+name, help, labels, nil)
	}
	return &memoryCollector{
		read:   read,
		budget: desc("budget_bytes", "Bytes of memory that the process may take; 0 is any number."),
		used: desc("used_bytes", "Bytes of memory that are not garbage: what the last collection left, and what has come and gone since. "+
			"Things are let go by it."),
		mapped:     desc("mapped_bytes", "Bytes of memory that Go has of the system, garbage included."),
		accounted:  desc("accounted_bytes", "Bytes of memory by what takes them, as far as they are counted.", "account"),
		relieved:   desc("relieved_total", "Times that something was let go to have memory, by what.", "step"),
		relievedOf: desc("relieved_bytes_total", "Bytes that were let go to have memory, by what.", "step"),
		refusals:   desc("refused_total", "Requests that were refused because there was no memory for them, by what it was for.", "account"),
	}
}

// Describe implements prometheus.Collector.
func (c *memoryCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.budget, c.used, c.mapped, c.accounted, c.relieved, c.relievedOf, c.refusals} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *memoryCollector) Collect(out chan<- prometheus.Metric) {
	stats := c.read()
	for desc, bytes := range map[*prometheus.Desc]int64{c.budget: stats.Budget, c.used: stats.Used, c.mapped: stats.Mapped} {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(bytes))
	}
	for account, bytes := range stats.Accounted {
		out <- prometheus.MustNewConstMetric(c.accounted, prometheus.GaugeValue, float64(bytes), account)
	}
	for desc, counts := range map[*prometheus.Desc]map[string]int64{
		c.relieved: stats.Relieved, c.relievedOf: stats.RelievedOf, c.refusals: stats.Refused,
	} {
		for label, count := range counts {
			out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(count), label)
		}
	}
}
