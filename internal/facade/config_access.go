package facade

import (
	"time"

	"github.com/listfacade/listfacade/internal/auth"
)

// Authentication configures how callers are authenticated (internal/auth).
type Authentication struct {
	// AnonymousActsAsKubeconfig disables authentication: every client that can reach the address reads with the kubeconfig
	// user's permissions. BindAddress must be a loopback address. The other fields of this struct are ignored, and so are
	// Config.Limits and Config.Authorization.
	AnonymousActsAsKubeconfig bool
	// Kubeconfig is the kubeconfig file for the kube-apiserver that reviews tokens; empty for the upstream that objects
	// are read from.
	Kubeconfig string
	// ClientCAFile is the bundle of authorities of client certificates. RequestHeaderCAFile is the bundle for front
	// proxies. If one is empty, the ConfigMap kube-system/extension-apiserver-authentication of the kube-apiserver that
	// reviews tokens is used. If RequestHeaderCAFile is empty, the names and headers of front proxies also come from this
	// ConfigMap.
	ClientCAFile, RequestHeaderCAFile string
	// RequestHeaderNames are the common names of front proxies. If empty, every certificate of the authority is
	// accepted.
	RequestHeaderNames []string
	// The headers in which front proxies send the caller's identity. For the name and the UID, the first header that is
	// set counts; for groups and extra, all headers.
	UsernameHeaders, UIDHeaders, GroupHeaders, ExtraHeaderPrefixes []string
	// Audiences are the accepted audiences of tokens; empty for the audiences of the upstream.
	Audiences []string
	// Anonymous is true to authorize requests without credentials as anonymous, or false to refuse them. With upstream,
	// the facade treats such requests as the upstream does.
	Anonymous string
	// ServiceAccountTokens is local or review: whether the facade verifies bound service account tokens itself, or
	// sends a TokenReview for each. If Kubeconfig is set, it sends TokenReviews.
	ServiceAccountTokens string
	// TokenTTL is how long TokenReview results are cached; it is above 0.
	TokenTTL time.Duration
	// FailureRate is the number of failed authentications per second and source address, with a burst of five times as
	// many; it is above 0. The limit of all addresses together is ten times as high, but at least 100 per second. Above
	// that, the addresses take turns. Recently accepted tokens are not delayed.
	FailureRate float64
}

// Values of Authentication.ServiceAccountTokens.
const (
	LocalTokens    = "local"
	ReviewedTokens = "review"
)

// Authorization configures how callers are authorized, and for how long (internal/auth).
type Authorization struct {
	// Kubeconfig is the kubeconfig file for the kube-apiserver that reviews access; empty for the upstream that objects
	// are read from.
	Kubeconfig string
	// AllowedTTL and DeniedTTL are how long decisions are cached; both are above 0. StaleOnError is how much longer a
	// positive decision is used while the upstream does not answer.
	AllowedTTL, DeniedTTL, StaleOnError time.Duration
	// Extras is auto, consider or ignore: whether each token of a service account has its own decisions
	// (auth.ExtrasMode).
	Extras string
	// Members of AlwaysAllowGroups, and requests for AlwaysAllowPaths, are authorized without a review. A path includes
	// all paths below it.
	AlwaysAllowGroups, AlwaysAllowPaths []string
	// MissRate is the number of uncached access reviews per second and caller, with a burst of four times as many; it
	// is above 0. Further reviews wait. The service accounts of a namespace together may have ten times as many.
	MissRate float64
	// WatchMaxAge is the maximum lifetime of a watch. WatchReauthorize is the interval of its access reviews. Both are
	// approximate and above 0.
	WatchMaxAge, WatchReauthorize time.Duration
	// PassThrough selects the upstream credentials of forwarded requests: token or impersonate. With off, requests for
	// resources that are not cached are refused.
	PassThrough string
}

func defaultAuthentication() Authentication {
	return Authentication{
		UsernameHeaders: []string{"x-remote-user"}, GroupHeaders: []string{"x-remote-group"},
		ExtraHeaderPrefixes: []string{"x-remote-extra-"},
		Anonymous:           "upstream", ServiceAccountTokens: LocalTokens, TokenTTL: 10 * time.Second, FailureRate: 10,
	}
}

func defaultAuthorization() Authorization {
	return Authorization{
		AllowedTTL: 10 * time.Second, DeniedTTL: 10 * time.Second, Extras: string(auth.DetectExtras),
		AlwaysAllowPaths: []string{"/healthz", "/livez", "/readyz"},
		MissRate:         50, WatchMaxAge: 30 * time.Minute, WatchReauthorize: 30 * time.Second, PassThrough: "token",
	}
}
