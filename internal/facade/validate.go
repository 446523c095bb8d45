package facade

import (
	"errors"
	"fmt"
	"time"
)

// Validate refuses what cannot be meant, by the flag's name.
func (c Config) Validate() error {
	switch {
	case !c.BindAddress.IsLoopback():
		return fmt.Errorf("--bind-address %s: callers are not authenticated yet and act with the rights of the kubeconfig's user, "+
			"so only a loopback address can be served", c.BindAddress)
	case c.Port < 0 || c.Port > 65535:
		return fmt.Errorf("--secure-port %d is not a port", c.Port)
	case (c.CertFile == "") != (c.KeyFile == ""):
		return errors.New("--tls-cert-file and --tls-private-key-file go together")
	case c.LogFormat != "console" && c.LogFormat != "json":
		return fmt.Errorf("--log-format %q: console or json", c.LogFormat)
	case c.HistoryBytes <= 0:
		return fmt.Errorf("--history-bytes %d must be above 0", c.HistoryBytes)
	case c.FormsMemory < 0:
		return fmt.Errorf("--forms-memory %d is below 0", c.FormsMemory)
	}
	for _, name := range c.PreloadEncodings {
		if encodings[name] == nil {
			return fmt.Errorf("--preload-encodings %q: json or protobuf", name)
		}
	}
	return c.validateDurations()
}

func (c Config) validateDurations() error {
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{
		{"request-timeout", c.RequestTimeout}, {"min-request-timeout", c.MinWatch}, {"write-timeout", c.WriteTimeout},
		{"history-window", c.HistoryWindow}, {"bookmark-interval", c.BookmarkInterval},
	} {
		if d.value <= 0 {
			return fmt.Errorf("--%s %s must be above 0", d.flag, d.value)
		}
	}
	return nil
}
