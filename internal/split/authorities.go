package split

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// authoritiesInterval is the interval at which the file is read. A changed file applies after two equal reads.
const authoritiesInterval = 2 * time.Second

var (
	errIncomplete    = errors.New("file contains an incomplete PEM block")
	errNoCertificate = errors.New("file contains no certificate in PEM")
)

// authorities are the CA certificates that verify a target. The method roots is safe for concurrent use.
type authorities struct {
	file  string // empty for the certificates of the system
	log   *zap.Logger
	pool  atomic.Pointer[x509.CertPool]
	users []*replaceable // transports that verify with the pool

	// Only refresh uses the fields below.
	text, last []byte // content of the file: in use, and at the last read
	problem    string // last logged error; empty after a read without an error
}

func readAuthorities(file string, log *zap.Logger) (*authorities, error) {
	a := &authorities{file: file, log: log}
	if file == "" {
		return a, nil
	}
	var err error
	if a.text, err = os.ReadFile(file); err != nil {
		return nil, err
	}
	return a, a.use(a.text)
}

// roots returns nil for the certificates of the system.
func (a *authorities) roots() *x509.CertPool { return a.pool.Load() }

// run reads the file periodically until the context ends. Open watches are not verified again.
func (a *authorities) run(ctx context.Context) {
	if a.file == "" {
		return
	}
	ticker := time.NewTicker(authoritiesInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			a.refresh()
		case <-ctx.Done():
			return
		}
	}
}

// refresh reads the file, and uses a changed content when two reads in a row have returned it.
func (a *authorities) refresh() {
	changed, err := a.reload()
	switch {
	case err != nil && err.Error() != a.problem:
		a.problem = err.Error()
		a.log.Warn("Failed to reload CA certificates of target; keeping the previous ones", zap.Error(err))
	case changed:
		a.log.Info("Reloaded CA certificates of target")
	}
	if err == nil {
		a.problem = ""
	}
}

func (a *authorities) reload() (changed bool, err error) {
	text, err := os.ReadFile(a.file)
	if err != nil {
		a.last = nil
		return false, err
	}
	stable := a.last != nil && bytes.Equal(text, a.last)
	a.last = text
	if bytes.Equal(text, a.text) || !stable {
		return false, nil
	}
	if err := a.use(text); err != nil {
		return false, err
	}
	a.text = text
	for _, user := range a.users {
		err = errors.Join(err, user.replace())
	}
	return true, err
}

func (a *authorities) use(text []byte) error {
	pool, err := parseAuthorities(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", a.file, err)
	}
	a.pool.Store(pool)
	return nil
}

// parseAuthorities returns the certificates of a PEM file. x509.CertPool omits each certificate that it cannot parse.
// This function returns an error, so that a start and a reload accept the same files.
func parseAuthorities(text []byte) (*x509.CertPool, error) {
	if !isComplete(text) {
		return nil, errIncomplete
	}
	pool, count := x509.NewCertPool(), 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		count++
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse certificate %d: %w", count, err)
		}
		pool.AddCert(certificate)
	}
	if count == 0 {
		return nil, errNoCertificate
	}
	return pool, nil
}

// isComplete reports whether each PEM block that begins also ends. A process that ended while it wrote the file may
// have left a part of the certificates.
func isComplete(text []byte) bool {
	const begin = "-----BEGIN " // only at the beginning of a line
	begun, ended := bytes.Count(text, []byte("\n"+begin)), 0
	if bytes.HasPrefix(text, []byte(begin)) {
		begun++
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		ended++
	}
	return begun == ended
}
