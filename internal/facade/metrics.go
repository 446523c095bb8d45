package facade

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/metrics"
)

// newMetrics returns the metrics of a facade whose upstream is the server of config. Its sources read fields of f that
// New sets later, but before the first scrape.
func (f *Facade) newMetrics(config *rest.Config) *metrics.Metrics {
	m := metrics.New(metrics.Sources{
		Lanes: f.Lanes, Memory: f.memoryStats,
		Precompressed: func() metrics.PrecompressedStats {
			return metrics.PrecompressedStats(f.precompressed.Stats())
		},
		Certificates: func() []metrics.Certificate { return f.certificates(config) }, Endpoints: f.endpointStates,
		Audit:     f.auditBacklog,
		Reviews:   func() []metrics.ReviewStats { return f.access.reviewStats() },
		SelfAudit: f.config.SelfAuditInterval, Journal: f.journalStats,
	})
	if f.config.SLIMetrics {
		m.ExposeSLI()
	}
	return m
}

// Answered returns the number of requests that a source has answered so far. The source is cache, upstream or facade.
func (f *Facade) Answered(source string) int { return f.metrics.Answered(source) }

// journalStats returns the numbers of the journal. The second result is false if there is no journal.
func (f *Facade) journalStats() (metrics.JournalStats, bool) {
	status, configured := f.lanes.JournalStatus()
	return metrics.JournalStats(status), configured
}

// auditBacklog returns the backlog of the audit log. The second result is false if there is no audit log.
func (f *Facade) auditBacklog() (metrics.AuditBacklog, bool) {
	if f.audit == nil {
		return metrics.AuditBacklog{}, false
	}
	lines, bytes := f.audit.Waiting()
	return metrics.AuditBacklog{Lines: lines, Bytes: bytes}, true
}

func (f *Facade) certificates(config *rest.Config) []metrics.Certificate {
	all := []metrics.Certificate{{Name: "serving", NotAfter: f.pair.NotAfter()}}
	if until, ok := clientCertificateEnd(config); ok {
		all = append(all, metrics.Certificate{Name: "upstream", NotAfter: until})
	}
	return all
}

// clientCertificateEnd returns when the configuration's client certificate expires, if there is one. It reads a file
// each time, as client-go does.
func clientCertificateEnd(config *rest.Config) (time.Time, bool) {
	data := config.CertData
	if len(data) == 0 && config.CertFile != "" {
		data, _ = os.ReadFile(config.CertFile) // an unreadable file counts as no certificate
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
