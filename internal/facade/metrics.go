package facade

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/observe"
)

// newMetrics are the metrics of what f has by the first scrape, in front of the upstream that config names.
func (f *Facade) newMetrics(config *rest.Config) *observe.Metrics {
	metrics := observe.NewMetrics(observe.Sources{
		Lanes: f.Lanes, Precompressed: func() observe.PrecompressedStats { return observe.PrecompressedStats(f.precompressed.Stats()) }, Memory: f.memoryStats,
		Certificates: func() []observe.Certificate { return f.certificates(config) }, Endpoints: f.endpointStates, Audit: f.auditBacklog,
		SelfAudit: f.config.SelfAuditInterval,
	})
	if f.config.SLIMetrics {
		metrics.ExposeSLI()
	}
	return metrics
}

// Answered is how many requests a source has answered so far: cache, upstream or facade.
func (f *Facade) Answered(source string) int { return f.metrics.Answered(source) }

// auditBacklog is what waits to be written into the audit log, if there is one.
func (f *Facade) auditBacklog() (observe.AuditBacklog, bool) {
	if f.audit == nil {
		return observe.AuditBacklog{}, false
	}
	lines, bytes := f.audit.Waiting()
	return observe.AuditBacklog{Lines: lines, Bytes: bytes}, true
}

// certificates are those that the facade shows: to its clients, and to the upstream if it shows one there.
func (f *Facade) certificates(config *rest.Config) []observe.Certificate {
	all := []observe.Certificate{{Name: "serving", NotAfter: f.pair.now.Load().Leaf.NotAfter}}
	if until, ok := clientCertificateEnd(config); ok {
		all = append(all, observe.Certificate{Name: "upstream", NotAfter: until})
	}
	return all
}

// clientCertificateEnd is until when the configuration's client certificate is good, if it has one. A file of it is
// read anew each time, as client-go does.
func clientCertificateEnd(config *rest.Config) (time.Time, bool) {
	data := config.CertData
	if len(data) == 0 && config.CertFile != "" {
		data, _ = os.ReadFile(config.CertFile) // what cannot be read has no end to tell
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return time.Time{}, false
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, false
	}
	return certificate.NotAfter, true
}
