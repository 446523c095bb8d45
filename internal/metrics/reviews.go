package metrics

import "github.com/prometheus/client_golang/prometheus"

// ReviewStats is the use of the seats for reviews at one kube-apiserver.
type ReviewStats struct {
	Host         string // of the kube-apiserver
	Seats, InUse int64
	Waiting      int // reviews that wait for a seat
	Paced        int // reviews that wait because their callers exceed --authz-miss-rate
}

// ReviewSource returns the current numbers for each kube-apiserver that answers reviews.
type ReviewSource func() []ReviewStats

type reviewCollector struct {
	read                  ReviewSource
	seats, inUse, waiting *prometheus.Desc
}

func newReviewCollector(read ReviewSource) *reviewCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("listfacade_"+name, help, append([]string{"endpoint"}, labels...), nil)
	}
	return &reviewCollector{
		read:  read,
		seats: desc("review_seats", "Current limit of reviews under way, which adapts to the kube-apiserver, by endpoint."),
		inUse: desc("review_seats_in_use", "Reviews under way, by endpoint."),
		waiting: desc("reviews_waiting", "Reviews that wait before they are sent, by endpoint and cause: seat if all seats are in use, "+
			"rate if their callers exceed --authz-miss-rate.", "cause"),
	}
}

func (c *reviewCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.seats
	out <- c.inUse
	out <- c.waiting
}

func (c *reviewCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, one := range c.read() {
		gauge(c.seats, float64(one.Seats), one.Host)
		gauge(c.inUse, float64(one.InUse), one.Host)
		gauge(c.waiting, float64(one.Waiting), one.Host, "seat")
		gauge(c.waiting, float64(one.Paced), one.Host, "rate")
	}
}
