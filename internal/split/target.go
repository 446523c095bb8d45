package split

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/frames"
	"github.com/listfacade/listfacade/internal/oplog"
)

const (
	// checkInterval is the time between two checks of a target. checkTimeout is the maximum duration of a check, and of
	// connecting and of the TLS handshake for any request.
	checkInterval = 2 * time.Second
	checkTimeout  = 5 * time.Second
	// mostFailures is the number of consecutive failed checks that make a server unready.
	mostFailures = 2
)

// server is one server that requests are sent to: kube-apiserver or a facade. Safe for concurrent use.
type server struct {
	kind Target
	base *url.URL
	// The field many sends many requests on a connection, with HTTP/2. kube-apiserver ends such a connection when any
	// request on it is anonymous or has a wrong token. The transport then repeats requests that were not processed,
	// which is impossible for requests with a body. Therefore only GETs use the field many.
	//
	// The field one sends one request at a time on a connection, with HTTP/1.1. It is for writes, checks and upgrades.
	many, one   tracked
	authorities *authorities
	ready       atomic.Bool
	untrusted   atomic.Bool   // the last check could not verify the certificate
	checked     chan struct{} // closed after the first check
	log, few    *zap.Logger   // few limits lines that clients can cause

	failures int // consecutive failed checks; only watchHealth uses it
}

// newServer returns a server that is not ready before its first check. If caFile is empty, the system's certificates
// verify the server.
func newServer(kind Target, address, caFile string, log *zap.Logger) (*server, error) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "https" || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("%q must be a URL such as https://host:6443", address)
	}
	log = log.With(zap.String("target", string(kind)), zap.String("host", base.Host))
	trusted, err := readAuthorities(caFile, log)
	if err != nil {
		return nil, err
	}
	one, err := newReplaceable(trusted, func() (frames.RoundTripper, error) { return newTransport(trusted), nil })
	if err != nil {
		return nil, err
	}
	many, err := newMultiplexed(trusted, one)
	if err != nil {
		return nil, err
	}
	return &server{
		kind: kind, base: base, log: log, few: oplog.Few(log), checked: make(chan struct{}),
		authorities: trusted, many: tracked{many}, one: tracked{one},
	}, nil
}

func (s *server) watchHealth(ctx context.Context) {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	first := true
	for {
		err := s.check(ctx)
		if ctx.Err() != nil {
			return
		}
		s.note(err)
		if first {
			first = false
			close(s.checked)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// note sets whether the server is ready, and logs changes. A ready server becomes unready with the second failed check
// in a row: the first may have reached a replica that shuts down, behind a Service with other replicas.
func (s *server) note(err error) {
	began := !isClosed(s.checked)
	s.untrusted.Store(isUntrusted(err))
	if err == nil {
		if began || s.failures >= mostFailures {
			s.log.Info("Target is ready")
		}
		s.failures = 0
		s.ready.Store(true)
		return
	}
	if s.failures++; s.failures == mostFailures || began {
		s.log.Warn("Target is not ready", zap.Error(explained(err, s)))
		s.failures = mostFailures
	}
	if s.failures >= mostFailures {
		s.ready.Store(false)
	}
}

// check reads /readyz on a new connection, because a Service leads new connections to ready replicas. A healthy server
// may answer a request without credentials with 401 or 403.
func (s *server) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base.JoinPath("/readyz").String(), nil)
	if err != nil {
		return err
	}
	request.Close = true
	answer, err := s.one.RoundTrip(request)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusTooManyRequests {
		return fmt.Errorf("/readyz responded with %s", answer.Status)
	}
	return nil
}

func (s *server) lost(r *http.Request, err error) {
	s.few.Warn("Request to target failed", zap.String("method", r.Method), zap.String("path", r.URL.Path),
		zap.Error(explained(err, s)))
}

func (s *server) closeIdle() {
	s.many.CloseIdleConnections()
	s.one.CloseIdleConnections()
}

// explained adds advice for operators to a failed verification of a certificate.
func explained(err error, s *server) error {
	if !isUntrusted(err) {
		return err
	}
	return fmt.Errorf("%w: the file of --%s-ca-file must contain the authority of the server's certificate, and the certificate must name %s",
		err, s.kind, s.base.Hostname())
}

func isUntrusted(err error) bool {
	var unverified *tls.CertificateVerificationError
	return errors.As(err, &unverified)
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
