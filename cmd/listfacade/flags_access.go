package main

import (
	"github.com/spf13/pflag"

	"github.com/listfacade/listfacade/internal/facade"
)

func authenticationFlags(c *facade.Config, f *pflag.FlagSet) {
	a := &c.Authentication
	f.BoolVar(&a.AnonymousActsAsKubeconfig, "anonymous-acts-as-kubeconfig", a.AnonymousActsAsKubeconfig,
		"ask nobody who they are: whoever reaches the address reads with the rights of the kubeconfig's user; for one person "+
			"on one machine, on a loopback address")
	f.StringVar(&a.Kubeconfig, "authentication-kubeconfig", a.Kubeconfig,
		"kubeconfig `file` of the kube-apiserver that reviews tokens; that of --kubeconfig when empty")
	f.StringVar(&a.ClientCAFile, "client-ca-file", a.ClientCAFile,
		"`file` of the authorities that vouch for client certificates; those that kube-apiserver publishes when empty")
	f.StringVar(&a.RequestHeaderCAFile, "requestheader-client-ca-file", a.RequestHeaderCAFile,
		"`file` of the authorities that vouch for front proxies; what kube-apiserver publishes when empty, with the names and "+
			"headers that it goes by")
	f.StringSliceVar(&a.RequestHeaderNames, "requestheader-allowed-names", a.RequestHeaderNames,
		"common `names` of the certificates of front proxies; any when empty")
	f.StringSliceVar(&a.UsernameHeaders, "requestheader-username-headers", a.UsernameHeaders, "`headers` with the user's name")
	f.StringSliceVar(&a.UIDHeaders, "requestheader-uid-headers", a.UIDHeaders, "`headers` with the user's UID")
	f.StringSliceVar(&a.GroupHeaders, "requestheader-group-headers", a.GroupHeaders, "`headers` with the user's groups")
	f.StringSliceVar(&a.ExtraHeaderPrefixes, "requestheader-extra-headers-prefix", a.ExtraHeaderPrefixes,
		"`beginnings` of headers with what else is known of the user")
	f.StringSliceVar(&a.Audiences, "api-audiences", a.Audiences,
		"`audiences` that tokens must be for; kube-apiserver's own when empty")
	f.StringVar(&a.Anonymous, "anonymous-auth", a.Anonymous,
		"whether requests without credentials reach the authorizer: upstream (as kube-apiserver has it), true or false")
	f.DurationVar(&a.TokenTTL, "authentication-token-webhook-cache-ttl", a.TokenTTL,
		"for how long a token's review is believed, whatever it said")
	f.Float64Var(&a.FailureRate, "authn-failure-rate", a.FailureRate,
		"how `many` logins a second may fail from one address, after five times as many at once, and ten times as many "+
			"(100 at least) from all, for which addresses take turns; then tokens that were not good in the last ten minutes wait")
}

func authorizationFlags(c *facade.Config, f *pflag.FlagSet) {
	a := &c.Authorization
	f.StringVar(&a.Kubeconfig, "authorization-kubeconfig", a.Kubeconfig,
		"kubeconfig `file` of the kube-apiserver that is asked what callers may do; that of --kubeconfig when empty")
	f.DurationVar(&a.AllowedTTL, "authorization-webhook-cache-authorized-ttl", a.AllowedTTL,
		"for how long an answer that allows is believed")
	f.DurationVar(&a.DeniedTTL, "authorization-webhook-cache-unauthorized-ttl", a.DeniedTTL,
		"for how long an answer that denies is believed")
	f.DurationVar(&a.StaleOnError, "authz-stale-on-error", a.StaleOnError,
		"for how much longer an answer that allows is believed while no other can be had")
	f.StringSliceVar(&a.AlwaysAllowGroups, "always-allow-groups", a.AlwaysAllowGroups,
		"`groups` whose users are not asked about")
	f.StringSliceVar(&a.AlwaysAllowPaths, "always-allow-paths", a.AlwaysAllowPaths,
		"`paths` that are not asked about, with what is below them")
	f.Float64Var(&a.MissRate, "authz-miss-rate", a.MissRate,
		"how `many` questions a second each caller may cause that were not asked before, after four times as many at once")
	f.DurationVar(&a.WatchMaxAge, "watch-max-age", a.WatchMaxAge,
		"about when a watch ends at the latest, whatever its client asks for")
	f.DurationVar(&a.WatchReauthorize, "watch-reauthorize-interval", a.WatchReauthorize,
		"about how often the right to a watch is asked for again, besides when RBAC objects change")
	f.StringVar(&a.PassThrough, "passthrough", a.PassThrough,
		"in whose name kube-apiserver is asked for what is not cached: token (the caller's own), impersonate (the same, and who "+
			"has none by constrained impersonation) or off")
}

func limitFlags(c *facade.Config, f *pflag.FlagSet) {
	l := &c.Limits
	f.IntVar(&l.Requests, "max-requests-inflight", l.Requests, "how `many` requests may be under way that are no watches; more wait for a while, in turns of callers")
	f.IntVar(&l.RequestsPerUser, "max-requests-inflight-per-user", l.RequestsPerUser,
		"how `many` of them may be one caller's; of a user that many pods act as, each pod is a caller")
	f.Int64Var(&l.ListBytes, "max-list-bytes-inflight", l.ListBytes,
		"`bytes` that lists under way may have, uncompressed; a caller has a quarter")
	f.IntVar(&l.Watches, "max-watches", l.Watches, "how `many` watches may be open; when all places are taken, callers with the most lose one to a newcomer")
	f.IntVar(&l.WatchesPerUser, "max-watches-per-user", l.WatchesPerUser, "how `many` of them may be one caller's")
	f.IntVar(&l.WatchRate, "watch-rate", l.WatchRate,
		"how `many` watches may be opened in a second, after two and a half times as many at once; more wait for a while, in turns of callers")
	f.IntVar(&l.WatchRatePerUser, "watch-rate-per-user", l.WatchRatePerUser,
		"how `many` watches a caller may open in a second, after ten times as many at once")
}
