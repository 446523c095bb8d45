package replay

import (
	"errors"
	"fmt"
	"net"
)

// Options are the flags of the command.
type Options struct {
	Dir string
	// At is the moment to replay, in a format of journal.ParseMoment.
	At string
	// Speed is the number of recorded seconds that pass in a real second.
	Speed float64
	// Frozen stops the clock, so that watches receive no events.
	Frozen bool
	// Listen is the loopback address and port to serve.
	Listen string
	// Kubeconfig is the file to write for programs without a flag for the server; empty for none.
	Kubeconfig string
}

// Default values and limits of flags.
const (
	defaultListen = "127.0.0.1:8001"
	defaultSpeed  = 1
	mostSpeed     = 1e6
)

func (o *Options) validate() error {
	switch {
	case o.Dir == "":
		return errors.New("--journal-dir is required")
	case o.At == "":
		return errors.New("--at is required")
	case !(o.Speed > 0 && o.Speed <= mostSpeed):
		return fmt.Errorf("--speed %v must be above 0 and at most %v; --frozen stops the time", o.Speed, mostSpeed)
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--listen %s: must be a loopback address, because callers are not authenticated", o.Listen)
	}
	return nil
}

func (o *Options) speed() float64 {
	if o.Frozen {
		return 0
	}
	return o.Speed
}
