package metrics

import "github.com/prometheus/client_golang/prometheus"

// MemoryStats are the numbers of the memory budget at a scrape.
type MemoryStats struct {
	Budget       int64            // bytes; 0 means no limit
	Used, Mapped int64            // bytes
	Accounted    map[string]int64 // bytes, by account
	Relieved     map[string]int64 // number of times that memory was freed, by step
	RelievedOf   map[string]int64 // bytes freed, by step
	Refused      map[string]int64 // number of requests refused for lack of memory, by account
}

// MemorySource returns the current numbers.
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
		budget: desc("budget_bytes", "Bytes of memory that the process may use; 0 means no limit."),
		used: desc("used_bytes", "Bytes of memory in use, without garbage: estimated from the last garbage collection and the changes since. "+
			"It is compared with the budget."),
		mapped:     desc("mapped_bytes", "Bytes of memory that the Go runtime has mapped, garbage included."),
		accounted:  desc("accounted_bytes", "Bytes of memory in use, by account: lanes, history, precompressed, unpacked, answers or watches.", "account"),
		relieved:   desc("relieved_total", "Times that memory was freed to stay within the budget, by step: precompressed, history, coldest_lane or unread_lane.", "step"),
		relievedOf: desc("relieved_bytes_total", "Bytes of memory freed to stay within the budget, by step: precompressed, history, coldest_lane or unread_lane.", "step"),
		refusals:   desc("refused_total", "Requests that were refused for lack of memory, by account: answers or watches.", "account"),
	}
}

func (c *memoryCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.budget, c.used, c.mapped, c.accounted, c.relieved, c.relievedOf,
		c.refusals} {
		out <- desc
	}
}

func (c *memoryCollector) Collect(out chan<- prometheus.Metric) {
	stats := c.read()
	for desc, bytes := range map[*prometheus.Desc]int64{c.budget: stats.Budget, c.used: stats.Used,
		c.mapped: stats.Mapped} {
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
