package facade

import (
	"net"
	"strings"
	"testing"
	"time"
)

func TestValidateAccepts(t *testing.T) {
	for name, set := range map[string]func(*Config){
		"defaults":          func(*Config) {},
		"all addresses":     func(c *Config) { c.BindAddress = net.IPv4zero },
		"IPv6 loopback":     func(c *Config) { c.BindAddress = net.IPv6loopback },
		"another loopback":  func(c *Config) { c.BindAddress = net.IPv4(127, 1, 2, 3) },
		"any free port":     func(c *Config) { c.Port = 0 },
		"the last port":     func(c *Config) { c.Port = 65535 },
		"a pair":            func(c *Config) { c.CertFile, c.KeyFile = "a", "b" },
		"zero for no limit": func(c *Config) { c.ShutdownGrace, c.LaneIdle, c.MaxStaleness = 0, 0, 0 },
		"several endpoints": func(c *Config) { c.Upstream = []string{"https://a:6443", "https://b:6443/k8s"} },
		"a peer":            func(c *Config) { c.WarmFrom, c.WarmFromCAFile = []string{"https://a.b:6443"}, "ca.crt" },
		"a slow shutdown":   func(c *Config) { c.ShutdownDelay, c.WatchTermination, c.GoawayChance = time.Second, time.Minute, 0.02 },
		"json":              func(c *Config) { c.LogFormat = "json" },
		"both encodings":    func(c *Config) { c.PreloadEncodings = []string{"json", "protobuf"} },
	} {
		c := Defaults()
		set(&c)
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An invalid setting is refused with the name of its flag.
func TestValidateRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		set  func(*Config)
		want string
	}{
		"an unknown encoding":      {func(c *Config) { c.PreloadEncodings = []string{"json", "yaml"} }, `--preload-encodings "yaml"`},
		"an unprotected endpoint":  {func(c *Config) { c.Upstream = []string{"https://a", "http://b"} }, `--upstream "http://b"`},
		"an endpoint without host": {func(c *Config) { c.Upstream = []string{"https:///a"} }, "--upstream"},
		"an endpoint twice":        {func(c *Config) { c.Upstream = []string{"https://a", "https://a"} }, "twice"},
		"an unprotected peer":      {func(c *Config) { c.WarmFrom = []string{"http://a"} }, `--warm-from "http://a"`},
		"a peer that is no URL":    {func(c *Config) { c.WarmFrom = []string{"https://a", "b:6443"} }, `--warm-from "b:6443"`},
		"a peer with a password":   {func(c *Config) { c.WarmFrom = []string{"https://a:b@c"} }, "--warm-from"},
		"an unused authority":      {func(c *Config) { c.WarmFromCAFile = "ca.crt" }, "--warm-from-ca-file ca.crt"},
		"all addresses":            {func(c *Config) { c.BindAddress, c.Authentication.AnonymousActsAsKubeconfig = net.IPv4zero, true }, "--bind-address 0.0.0.0: with --anonymous-acts-as-kubeconfig"},
		"every IPv6 address":       {func(c *Config) { c.BindAddress, c.Authentication.AnonymousActsAsKubeconfig = net.IPv6unspecified, true }, "--bind-address ::"},
		"a machine's address": {func(c *Config) {
			c.BindAddress, c.Authentication.AnonymousActsAsKubeconfig = net.IPv4(10, 0, 0, 1), true
		}, "--bind-address 10.0.0.1"},
		"no address":                {func(c *Config) { c.BindAddress = nil }, "--bind-address"},
		"an unknown anonymous mode": {func(c *Config) { c.Authentication.Anonymous = "maybe" }, `--anonymous-auth "maybe"`},
		"an unknown way of tokens":  {func(c *Config) { c.Authentication.ServiceAccountTokens = "maybe" }, `--service-account-tokens "maybe"`},
		"an unknown shard mode":     {func(c *Config) { c.ShardSelectors = "true" }, `--shard-selectors "true"`},
		"an unknown pass-through":   {func(c *Config) { c.Authorization.PassThrough = "admin" }, `--passthrough "admin"`},
		"no requests":               {func(c *Config) { c.Limits.Requests = 0 }, "--max-requests-inflight 0"},
		"no failures":               {func(c *Config) { c.Authentication.FailureRate = 0 }, "--authn-failure-rate 0"},
		"no age of watches":         {func(c *Config) { c.Authorization.WatchMaxAge = 0 }, "--watch-max-age 0s"},
		"a port below 0":            {func(c *Config) { c.Port = -1 }, "--secure-port -1"},
		"a port above the last":     {func(c *Config) { c.Port = 65536 }, "--secure-port 65536"},
		"a certificate alone":       {func(c *Config) { c.CertFile = "a" }, "--tls-cert-file and --tls-private-key-file"},
		"a key alone":               {func(c *Config) { c.KeyFile = "a" }, "--tls-cert-file and --tls-private-key-file"},
		"two certificates": {func(c *Config) { c.CertFile, c.KeyFile, c.SharedAuthority = "a", "b", "c/d" },
			"--tls-cert-file and --shared-authority"},
		"an authority of no namespace": {func(c *Config) { c.SharedAuthority = "a" }, `--shared-authority "a"`},
		"an unknown log format":        {func(c *Config) { c.LogFormat = "xml" }, `--log-format "xml"`},
		"too high a GOAWAY chance":     {func(c *Config) { c.GoawayChance = 0.021 }, "--goaway-chance 0.021 must be from 0 to 0.02"},
		"a negative shutdown delay":    {func(c *Config) { c.ShutdownDelay = -1 }, "--shutdown-delay-duration -1ns"},
		"no bytes of history":          {func(c *Config) { c.HistoryBytes = 0 }, "--history-bytes 0"},
		"negative bytes of history":    {func(c *Config) { c.HistoryBytes = -1 }, "--history-bytes -1"},
		"no time for requests":         {func(c *Config) { c.RequestTimeout = 0 }, "--request-timeout 0s"},
		"no time for watches":          {func(c *Config) { c.MinWatch = 0 }, "--min-request-timeout 0s"},
		"no time for writes":           {func(c *Config) { c.WriteTimeout = -time.Second }, "--write-timeout -1s"},
		"no history":                   {func(c *Config) { c.HistoryWindow = 0 }, "--history-window 0s"},
		"no bookmark interval":         {func(c *Config) { c.BookmarkInterval = 0 }, "--bookmark-interval 0s"},
	} {
		c := Defaults()
		test.set(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, test.want)
		}
	}
}

// Of several invalid settings, always the same one is named.
func TestValidateNamesSameSettingEachTime(t *testing.T) {
	for range 20 {
		c := Defaults()
		c.ShutdownDelay, c.JournalMaxAge, c.SelfAuditInterval, c.Slow.WatchLag = -1, -1, -1, -1
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "--shutdown-delay-duration") {
			t.Fatalf("got %v, want --shutdown-delay-duration in it", err)
		}
		c.Audit.MaxAge, c.Audit.MaxBackups, c.Audit.MaxSize = -1, -1, -1
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "--audit-log-maxage") {
			t.Fatalf("got %v, want --audit-log-maxage in it", err)
		}
	}
}

// An invalid Config is refused before anything is served, and an unknown log level by its flag.
func TestRunRefuses(t *testing.T) {
	for want, set := range map[string]func(*Config){
		"--bind-address 0.0.0.0": func(c *Config) { c.BindAddress, c.Authentication.AnonymousActsAsKubeconfig = net.IPv4zero, true },
		"--log-level":            func(c *Config) { c.LogLevel = "loud" },
	} {
		c := Defaults()
		c.CertDir = t.TempDir()
		set(&c)
		if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
