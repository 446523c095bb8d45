package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// JournalStats are the numbers of the journal at a scrape.
type JournalStats struct {
	Open     bool          // whether this process writes the journal
	Lag      time.Duration // age of the oldest unwritten event; without such an event, time since all lanes were written
	Segments int
	Bytes    int64
	Over     bool // whether the newest files, which are always kept, exceed --journal-max-bytes
}

// JournalSource returns the current numbers; configured is false if there is no journal.
type JournalSource func() (stats JournalStats, configured bool)

type journalMetrics struct {
	holes  *prometheus.CounterVec
	errors prometheus.Counter
}

func newJournalMetrics() journalMetrics {
	m := journalMetrics{
		holes: counter("journal_holes_total",
			"Times that the journal lacks events of a lane, by reason: relisted if the lane itself lost events or began a new epoch, behind if the history dropped them before they were written, ended if the last events of an ended lane were not written."+laneHelp,
			"reason"),
		errors: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "listfacade", Name: "journal_errors_total",
			Help: "Failed attempts to write the journal. Successive failures to open it with the same error count once."}),
	}
	for _, reason := range []string{"relisted", "behind", "ended"} {
		m.holes.WithLabelValues(reason)
	}
	return m
}

// JournalHole counts a hole of the journal by its reason: relisted, behind or ended.
func (m *Metrics) JournalHole(reason string) { m.journal.holes.WithLabelValues(reason).Inc() }

// JournalFailed counts a failed attempt to open or write the journal.
func (m *Metrics) JournalFailed() { m.journal.errors.Inc() }

type journalCollector struct {
	read                             JournalSource
	open, lag, segments, bytes, over *prometheus.Desc
}

func newJournalCollector(read JournalSource) *journalCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("listfacade_journal_"+name, help, nil, nil)
	}
	return &journalCollector{
		read: read,
		open: desc("open", "1 if this process writes the journal, else 0. Absent without a journal."),
		lag: desc("lag_seconds",
			"Seconds since the arrival of the oldest event that is not in the journal. Without such an event, seconds since all lanes were last written. A lane is the cache of one resource in one encoding."),
		segments: desc("segments", "Files of the journal."),
		bytes:    desc("bytes", "Bytes of the files of the journal."),
		over:     desc("over_limit", "1 if the newest files of the journal, which are always kept, exceed --journal-max-bytes, else 0."),
	}
}

func (c *journalCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.open, c.lag, c.segments, c.bytes, c.over} {
		out <- desc
	}
}

func (c *journalCollector) Collect(out chan<- prometheus.Metric) {
	stats, configured := c.read()
	if !configured {
		return
	}
	send := func(desc *prometheus.Desc, value float64) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value)
	}
	send(c.open, oneOrZero(stats.Open))
	if !stats.Open {
		return
	}
	send(c.lag, stats.Lag.Seconds())
	send(c.segments, float64(stats.Segments))
	send(c.bytes, float64(stats.Bytes))
	send(c.over, oneOrZero(stats.Over))
}
