package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Certificate is one that the facade shows to others.
type Certificate struct {
	Name     string // serving, or upstream for the one that it shows to its upstream
	NotAfter time.Time
}

// CertificateSource tells those of the moment.
type CertificateSource func() []Certificate

type certificateCollector struct {
	read    CertificateSource
	expires *prometheus.Desc
}

func newCertificateCollector(read CertificateSource) *certificateCollector {
	return &certificateCollector{read: read, expires: prometheus.NewDesc("listfacade_certificate_expiration_timestamp_seconds",
		"When a certificate expires that the facade shows, in seconds since 1970.", []string{"certificate"}, nil)}
}

// Describe implements prometheus.Collector.
func (c *certificateCollector) Describe(out chan<- *prometheus.Desc) { out <- c.expires }

// Collect implements prometheus.Collector.
func (c *certificateCollector) Collect(out chan<- prometheus.Metric) {
	for _, one := range c.read() {
		out <- prometheus.MustNewConstMetric(c.expires, prometheus.GaugeValue, float64(one.NotAfter.Unix()), one.Name)
	}
}
