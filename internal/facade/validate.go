package facade

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// mostGoaway is kube-apiserver's maximum of --goaway-chance.
const mostGoaway = 0.02

// Validate returns an error that names the first invalid setting, in an order that does not change.
func (c Config) Validate() error {
	switch {
	case c.BindAddress == nil:
		return errors.New("--bind-address is required")
	case c.Authentication.AnonymousActsAsKubeconfig && !c.BindAddress.IsLoopback():
		return fmt.Errorf("--bind-address %s: with --anonymous-acts-as-kubeconfig the address must be a loopback address, "+
			"because every client that reaches it acts as the kubeconfig user", c.BindAddress)
	case c.Port < 0 || c.Port > 65535:
		return fmt.Errorf("--secure-port %d is not a port", c.Port)
	case (c.CertFile == "") != (c.KeyFile == ""):
		return errors.New("--tls-cert-file and --tls-private-key-file must be set together")
	case c.CertFile != "" && c.SharedAuthority != "":
		return errors.New("--tls-cert-file and --shared-authority exclude each other: set only one of them")
	case c.LogFormat != "console" && c.LogFormat != "json":
		return fmt.Errorf("--log-format %q: must be console or json", c.LogFormat)
	case c.HistoryBytes <= 0:
		return fmt.Errorf("--history-bytes %d must be above 0", c.HistoryBytes)
	case c.GoawayChance < 0 || c.GoawayChance > mostGoaway:
		return fmt.Errorf("--goaway-chance %v must be from 0 to %v", c.GoawayChance, mostGoaway)
	case c.PrecompressedMemory < 0:
		return fmt.Errorf("--precompressed-memory %d must not be below 0", c.PrecompressedMemory)
	}
	if _, _, err := c.authorityName(); c.SharedAuthority != "" && err != nil {
		return err
	}
	if err := checkEncodings("--preload-encodings", c.PreloadEncodings); err != nil {
		return err
	}
	if err := c.validateResources(); err != nil {
		return err
	}
	if err := c.validateUpstream(); err != nil {
		return err
	}
	if err := c.validateWarm(); err != nil {
		return err
	}
	if err := c.validateAccess(); err != nil {
		return err
	}
	if err := c.Audit.Validate(); err != nil {
		return err
	}
	return c.validateDurations()
}

func (c Config) validateAccess() error {
	for _, choice := range []struct {
		flag, value string
		of          []string
	}{
		{"anonymous-auth", c.Authentication.Anonymous, []string{"upstream", "true", "false"}},
		{"authorization-extras", c.Authorization.Extras, []string{"auto", "consider", "ignore"}},
		{"service-account-tokens", c.Authentication.ServiceAccountTokens, []string{LocalTokens, ReviewedTokens}},
		{"passthrough", c.Authorization.PassThrough, []string{"token", "impersonate", "off"}},
		{"shard-selectors", c.ShardSelectors, []string{"auto", "always", "never"}},
	} {
		if !slices.Contains(choice.of, choice.value) {
			return fmt.Errorf("--%s %q: must be one of %s", choice.flag, choice.value, strings.Join(choice.of, ", "))
		}
	}
	for _, number := range []struct {
		flag  string
		value float64
	}{
		{"authn-failure-rate", c.Authentication.FailureRate}, {"authz-miss-rate", c.Authorization.MissRate},
		{"max-requests-inflight", float64(c.Limits.Requests)},
		{"max-requests-inflight-per-user", float64(c.Limits.RequestsPerUser)},
		{"max-list-bytes-inflight", float64(c.Limits.ListBytes)}, {"max-watches", float64(c.Limits.Watches)},
		{"max-watches-per-user", float64(c.Limits.WatchesPerUser)}, {"watch-rate", float64(c.Limits.WatchRate)},
		{"watch-rate-per-user", float64(c.Limits.WatchRatePerUser)},
	} {
		if number.value <= 0 {
			return fmt.Errorf("--%s %v must be above 0", number.flag, number.value)
		}
	}
	return nil
}

func (c Config) validateDurations() error {
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{
		{"request-timeout", c.RequestTimeout}, {"min-request-timeout", c.MinWatch}, {"write-timeout", c.WriteTimeout},
		{"history-window", c.HistoryWindow}, {"bookmark-interval", c.BookmarkInterval},
		{"authentication-token-webhook-cache-ttl", c.Authentication.TokenTTL},
		{"authorization-webhook-cache-authorized-ttl", c.Authorization.AllowedTTL},
		{"authorization-webhook-cache-unauthorized-ttl", c.Authorization.DeniedTTL},
		{"watch-max-age", c.Authorization.WatchMaxAge}, {"watch-reauthorize-interval", c.Authorization.WatchReauthorize},
	} {
		if d.value <= 0 {
			return fmt.Errorf("--%s %s must be above 0", d.flag, d.value)
		}
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{
		{"shutdown-delay-duration", c.ShutdownDelay}, {"shutdown-watch-termination-grace-period", c.WatchTermination},
		{"shutdown-grace-period", c.ShutdownGrace}, {"journal-max-age", c.JournalMaxAge},
		{"self-audit-interval", c.SelfAuditInterval}, {"slow-request-threshold", c.Slow.Request},
		{"slow-watch-lag", c.Slow.WatchLag},
	} {
		if d.value < 0 {
			return fmt.Errorf("--%s %s must not be below 0", d.flag, d.value)
		}
	}
	return nil
}
