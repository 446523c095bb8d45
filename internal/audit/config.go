package audit

import (
	"errors"
	"fmt"
	"slices"
)

// Values of Config.Mode: whether requests wait until their lines are written.
const (
	Batch          = "batch"           // requests do not wait; events are dropped when the buffer is full
	Blocking       = "blocking"        // a request waits until its line is written
	BlockingStrict = "blocking-strict" // as Blocking; a request whose RequestReceived line is lost is rejected
)

// The formats of lines.
const (
	JSON   = "json"
	Legacy = "legacy" // one line of text with a few of the fields
)

// Config configures the audit log. Its fields correspond to kube-apiserver's flags. Without PolicyFile and Path there
// is no audit log.
type Config struct {
	// PolicyFile is the path of a file with a Policy of audit.k8s.io/v1.
	PolicyFile string
	// Path is the path of the log; - means stdout.
	Path string
	// MaxAge is the maximum age of rotated files in days. MaxBackups is their maximum number. MaxSize is the size in MiB
	// at which the file is rotated. 0 means no limit. Negative values are invalid.
	MaxAge, MaxBackups, MaxSize int
	// Compress reports whether rotated files are compressed with gzip.
	Compress     bool
	Mode, Format string
}

// DefaultConfig returns a Config without an audit log. Its sizes are those of kube-apiserver. Its mode is Batch, but
// kube-apiserver's default is blocking.
func DefaultConfig() Config {
	return Config{MaxAge: 366, MaxBackups: 100, MaxSize: 100, Mode: Batch, Format: JSON}
}

// Validate checks the values. Its error names the flag. It does not read the policy file.
func (c Config) Validate() error {
	switch {
	case (c.PolicyFile == "") != (c.Path == ""):
		return errors.New("--audit-policy-file and --audit-log-path must be set together")
	case !slices.Contains([]string{Batch, Blocking, BlockingStrict}, c.Mode):
		return fmt.Errorf("--audit-log-mode %q: must be batch, blocking or blocking-strict", c.Mode)
	case c.Format != JSON && c.Format != Legacy:
		return fmt.Errorf("--audit-log-format %q: must be json or legacy", c.Format)
	}
	for _, number := range []struct {
		flag  string
		value int
	}{
		{"audit-log-maxage", c.MaxAge}, {"audit-log-maxbackup", c.MaxBackups}, {"audit-log-maxsize", c.MaxSize},
	} {
		if number.value < 0 {
			return fmt.Errorf("--%s %d: must not be negative", number.flag, number.value)
		}
	}
	return nil
}

// Enabled reports whether there is an audit log.
func (c Config) Enabled() bool { return c.PolicyFile != "" && c.Path != "" }
