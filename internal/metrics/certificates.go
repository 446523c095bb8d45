package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Certificate is a certificate that the facade presents.
type Certificate struct {
	Name     string // serving, or upstream for the facade's client certificate
	NotAfter time.Time
}

// CertificateSource returns the current certificates.
type CertificateSource func() []Certificate

type certificateCollector struct {
	read    CertificateSource
	expires *prometheus.Desc
}

func newCertificateCollector(read CertificateSource) *certificateCollector {
	return &certificateCollector{read: read,
		expires: prometheus.NewDesc("listfacade_certificate_expiration_timestamp_seconds",
			"Expiration time of a certificate of the facade in seconds since the Unix epoch, by certificate: serving or upstream.", []string{"certificate"}, nil)}
}

func (c *certificateCollector) Describe(out chan<- *prometheus.Desc) { out <- c.expires }

func (c *certificateCollector) Collect(out chan<- prometheus.Metric) {
	for _, one := range c.read() {
		out <- prometheus.MustNewConstMetric(c.expires, prometheus.GaugeValue, float64(one.NotAfter.Unix()), one.Name)
	}
}
