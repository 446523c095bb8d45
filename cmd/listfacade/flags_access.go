package main

import (
	"github.com/spf13/pflag"

	"github.com/listfacade/listfacade/internal/facade"
)

func authenticationFlags(c *facade.Config, f *pflag.FlagSet) {
	a := &c.Authentication
	f.BoolVar(&a.AnonymousActsAsKubeconfig, "anonymous-acts-as-kubeconfig", a.AnonymousActsAsKubeconfig,
		"Disable authentication and the limits of requests and watches. Everyone who can connect reads with the permissions of the kubeconfig's user. Only a loopback "+
			"--bind-address is accepted.")
	f.StringVar(&a.Kubeconfig, "authentication-kubeconfig", a.Kubeconfig,
		"Path of the kubeconfig `file` of the kube-apiserver that reviews tokens. If empty, that of --kubeconfig is used.")
	f.StringVar(&a.ClientCAFile, "client-ca-file", a.ClientCAFile,
		"Path of the `file` with the CA certificates that verify client certificates. If empty, those that kube-apiserver publishes are used.")
	f.StringVar(&a.RequestHeaderCAFile, "requestheader-client-ca-file", a.RequestHeaderCAFile,
		"Path of the `file` with the CA certificates that verify front proxies. If empty, the CA, names and headers that kube-apiserver "+
			"publishes are used, and the other --requestheader flags have no effect.")
	f.StringSliceVar(&a.RequestHeaderNames, "requestheader-allowed-names", a.RequestHeaderNames,
		"List of common `names` of the client certificates of front proxies. If empty, any name is accepted.")
	f.StringSliceVar(&a.UsernameHeaders, "requestheader-username-headers", a.UsernameHeaders,
		"List of `headers` with the user's name.")
	f.StringSliceVar(&a.UIDHeaders, "requestheader-uid-headers", a.UIDHeaders, "List of `headers` with the user's UID.")
	f.StringSliceVar(&a.GroupHeaders, "requestheader-group-headers", a.GroupHeaders,
		"List of `headers` with the user's groups.")
	f.StringSliceVar(&a.ExtraHeaderPrefixes, "requestheader-extra-headers-prefix", a.ExtraHeaderPrefixes,
		"List of `prefixes` of headers with extra information about the user.")
	f.StringSliceVar(&a.Audiences, "api-audiences", a.Audiences,
		"List of `audiences` of which a token must have at least one. If empty, the audiences of kube-apiserver are used.")
	f.StringVar(&a.Anonymous, "anonymous-auth", a.Anonymous,
		"Whether requests without credentials reach the authorizer: upstream (as kube-apiserver is configured), true or false.")
	f.StringVar(&a.ServiceAccountTokens, "service-account-tokens", a.ServiceAccountTokens,
		"Method by which bound service account tokens are authenticated: local (by their signature and the objects that they are bound to, if the "+
			"facade watches these objects) or review (by one TokenReview each). With --authentication-kubeconfig, the method is always review.")
	f.DurationVar(&a.TokenTTL, "authentication-token-webhook-cache-ttl", a.TokenTTL,
		"How long to cache TokenReview results, positive and negative.")
	f.Float64Var(&a.FailureRate, "authn-failure-rate", a.FailureRate,
		"Maximum `number` of failed authentications per second and source address, with a burst of five times as many. All addresses together "+
			"may fail ten times as often, at least 100 per second. An address above its limit is rejected with 429. Above the total limit, "+
			"addresses take turns. Tokens that kube-apiserver accepted in the last ten minutes are exempt.")
}

func authorizationFlags(c *facade.Config, f *pflag.FlagSet) {
	a := &c.Authorization
	f.StringVar(&a.Kubeconfig, "authorization-kubeconfig", a.Kubeconfig,
		"Path of the kubeconfig `file` of the kube-apiserver that reviews the permissions of callers. If empty, that of --kubeconfig is used.")
	f.DurationVar(&a.AllowedTTL, "authorization-webhook-cache-authorized-ttl", a.AllowedTTL,
		"How long to cache decisions that allow a request.")
	f.DurationVar(&a.DeniedTTL, "authorization-webhook-cache-unauthorized-ttl", a.DeniedTTL,
		"How long to cache decisions that deny a request.")
	f.DurationVar(&a.StaleOnError, "authz-stale-on-error", a.StaleOnError,
		"Time for which expired decisions that allow a request are used while kube-apiserver cannot be reached. 0 means that they are not used.")
	f.StringVar(&a.Extras, "authorization-extras", a.Extras,
		"Whether decisions depend on the token, pod and node of a service account: ignore (all tokens of the account share decisions), consider (each token has "+
			"its own decisions) or auto (shared while kube-apiserver's metrics show no authorization webhook).")
	f.StringSliceVar(&a.AlwaysAllowGroups, "always-allow-groups", a.AlwaysAllowGroups,
		"List of `groups` whose members may read everything without authorization.")
	f.StringSliceVar(&a.AlwaysAllowPaths, "always-allow-paths", a.AlwaysAllowPaths,
		"List of `paths` that every caller may get without authorization, including the paths below them.")
	f.Float64Var(&a.MissRate, "authz-miss-rate", a.MissRate,
		"Maximum `number` of permission reviews per second and caller, with a burst of four times as many. All service accounts of one namespace "+
			"together have ten times this rate and burst. Cached decisions do not count. Excess reviews are queued per caller.")
	f.DurationVar(&a.WatchMaxAge, "watch-max-age", a.WatchMaxAge,
		"Maximum lifetime of a watch, jittered. A longer timeoutSeconds of a client is shortened to this lifetime.")
	f.DurationVar(&a.WatchReauthorize, "watch-reauthorize-interval", a.WatchReauthorize,
		"Interval, jittered, at which the authorization of open watches is reviewed again. Changes of RBAC objects also cause a review.")
	f.StringVar(&a.PassThrough, "passthrough", a.PassThrough,
		"Credentials with which requests for resources that are not cached are forwarded to kube-apiserver: token (the caller's bearer "+
			"token), impersonate (the caller's bearer token, or constrained impersonation for callers without one) or off (such requests are rejected).")
}

func limitFlags(c *facade.Config, f *pflag.FlagSet) {
	l := &c.Limits
	f.IntVar(&l.Requests, "max-requests-inflight", l.Requests,
		"Maximum `number` of requests in flight that are neither watches nor streams of container logs. Excess requests are queued per caller.")
	f.IntVar(&l.RequestsPerUser, "max-requests-inflight-per-user", l.RequestsPerUser,
		"Maximum `number` of requests that one caller may have in flight. Watches and streams of container logs do not count. Pods that share a service account are separate callers.")
	f.Int64Var(&l.ListBytes, "max-list-bytes-inflight", l.ListBytes,
		"Maximum number of uncompressed `bytes` of lists in flight. One caller may use a quarter of these bytes.")
	f.IntVar(&l.Watches, "max-watches", l.Watches,
		"Maximum `number` of open watches, including streams of container logs. At the limit, a new watch ends the oldest watch of the caller with the most watches (of the group with the most watches), or is rejected with 429.")
	f.IntVar(&l.WatchesPerUser, "max-watches-per-user", l.WatchesPerUser,
		"Maximum `number` of open watches of one caller.")
	f.IntVar(&l.WatchRate, "watch-rate", l.WatchRate,
		"Maximum `number` of watches and streams of container logs opened per second, with a burst of two and a half times as many. Excess requests are queued per caller.")
	f.IntVar(&l.WatchRatePerUser, "watch-rate-per-user", l.WatchRatePerUser,
		"Maximum `number` of watches that one caller opens per second, with a burst of ten times as many. Excess requests are rejected with 429.")
}
