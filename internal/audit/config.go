package audit

import (
	"errors"
	"fmt"
	"slices"
)

// The modes: how requests and the writing of their lines go together.
const (
	Batch          = "batch"           // requests do not wait; what finds no room is dropped
	Blocking       = "blocking"        // a request waits until its line is written
	BlockingStrict = "blocking-strict" // and is refused when its first one cannot be
)

// The formats of lines.
const (
	JSON   = "json"
	Legacy = "legacy" // one line of text with a few of the fields
)

// Config says what is written and where, in the words of kube-apiserver's flags. Nothing is written while PolicyFile
// and Path are empty.
type Config struct {
	// PolicyFile is a Policy of audit.k8s.io/v1.
	PolicyFile string
	// Path is the file to write; - is stdout.
	Path string
	// MaxAge is after how many days files that were full are removed, MaxBackups how many of them are kept, MaxSize at
	// how many MiB a file is full; 0 removes none, and has no end. None is below 0.
	MaxAge, MaxBackups, MaxSize int
	// Compress compresses files that are full.
	Compress bool
	// Mode is one of the modes, Format one of the formats.
	Mode, Format string
}

// DefaultConfig writes nothing. Its sizes are kube-apiserver's; its mode is not, which is blocking there.
func DefaultConfig() Config {
	return Config{MaxAge: 366, MaxBackups: 100, MaxSize: 100, Mode: Batch, Format: JSON}
}

// Validate refuses what cannot be meant, by the flag's name. The policy file is read by New.
func (c Config) Validate() error {
	switch {
	case (c.PolicyFile == "") != (c.Path == ""):
		return errors.New("--audit-policy-file and --audit-log-path go together")
	case !slices.Contains([]string{Batch, Blocking, BlockingStrict}, c.Mode):
		return fmt.Errorf("--audit-log-mode %q: batch, blocking or blocking-strict", c.Mode)
	case c.Format != JSON && c.Format != Legacy:
		return fmt.Errorf("--audit-log-format %q: json or legacy", c.Format)
	}
	for flag, value := range map[string]int{"audit-log-maxage": c.MaxAge, "audit-log-maxbackup": c.MaxBackups, "audit-log-maxsize": c.MaxSize} {
		if value < 0 {
			return fmt.Errorf("--%s %d is below 0", flag, value)
		}
	}
	return nil
}

// Enabled tells whether anything is to be written.
func (c Config) Enabled() bool { return c.PolicyFile != "" && c.Path != "" }
