package facade

import "time"

// Authentication is how callers are proven to be who they say (internal/auth).
type Authentication struct {
	// AnonymousActsAsKubeconfig: nobody is asked who they are, and everybody who can reach the address reads with the
	// rights of the kubeconfig's user. Only loopback can be served so; nothing else of this struct, of Authorization
	// and of Limits means anything then.
	AnonymousActsAsKubeconfig bool
	// Kubeconfig is of the kube-apiserver that reviews tokens; empty for the one that is read.
	Kubeconfig string
	// ClientCAFile vouches for client certificates, and RequestHeaderCAFile for front proxies; empty for what the
	// upstream has published in the ConfigMap extension-apiserver-authentication of kube-system, headers included.
	ClientCAFile, RequestHeaderCAFile string
	// RequestHeaderNames are the common names of front proxies; without any, every certificate of the CA is one.
	RequestHeaderNames []string
	// The headers in which front proxies say who asks; of each kind the first that is set counts.
	UsernameHeaders, UIDHeaders, GroupHeaders, ExtraHeaderPrefixes []string
	// Audiences are those that a token must be for; empty for the upstream's own.
	Audiences []string
	// Anonymous is upstream, true or false: whether requests without credentials are let through to the authorizer.
	Anonymous string
	// TokenTTL, above 0, is for how long a token's review is believed.
	TokenTTL time.Duration
	// FailureRate, above 0, is how many logins a second may fail from one address, after five times as many at once. From
	// all addresses ten times as many may, but 100 at least, for which addresses take turns. Tokens that were good lately
	// are not held up.
	FailureRate float64
}

// Authorization is how it is found out what callers may do, and for how long they may do it (internal/auth).
type Authorization struct {
	// Kubeconfig is of the kube-apiserver that is asked; empty for the one that is read.
	Kubeconfig string
	// AllowedTTL and DeniedTTL, above 0, are for how long an answer is believed, StaleOnError for how much longer one
	// that allowed is, while no other can be had.
	AllowedTTL, DeniedTTL, StaleOnError time.Duration
	// AlwaysAllowGroups and AlwaysAllowPaths are let through without being asked about; a path stands for
	// what is below it, too.
	AlwaysAllowGroups, AlwaysAllowPaths []string
	// MissRate, above 0, is how many questions a second that were not asked before each caller may cause, after four
	// times as many at once.
	MissRate float64
	// WatchMaxAge and WatchReauthorize are above 0: about when a watch ends at the latest, and about how often the
	// right to it is asked for again.
	WatchMaxAge, WatchReauthorize time.Duration
	// PassThrough is token, impersonate or off: in whose name kube-apiserver is asked for what is not cached.
	PassThrough string
}

func defaultAuthentication() Authentication {
	return Authentication{
		UsernameHeaders: []string{"x-remote-user"}, GroupHeaders: []string{"x-remote-group"}, ExtraHeaderPrefixes: []string{"x-remote-extra-"},
		Anonymous: "upstream", TokenTTL: 10 * time.Second, FailureRate: 10,
	}
}

func defaultAuthorization() Authorization {
	return Authorization{
		AllowedTTL: 10 * time.Second, DeniedTTL: 10 * time.Second, AlwaysAllowPaths: []string{"/healthz", "/livez", "/readyz"},
		MissRate: 50, WatchMaxAge: 30 * time.Minute, WatchReauthorize: 30 * time.Second, PassThrough: "token",
	}
}
