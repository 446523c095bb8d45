package auth

import (
	"time"

	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/authentication/user"
)

// ReviewsConfig configures Reviews. Zero values select the defaults.
type ReviewsConfig struct {
	Upstream Upstream // required

	// AllowedTTL and DeniedTTL are how long decisions are cached. The default is 10 s each, as in kube-apiserver's
	// delegated authorization.
	AllowedTTL, DeniedTTL time.Duration
	// StaleOnError is how long after AllowedTTL a permission stays valid while the upstream does not answer; 0 disables
	// this.
	StaleOnError time.Duration
	// AlwaysAllowPaths are non-resource paths that every caller may read, including all paths below them. nil selects
	// /livez, /readyz and /healthz.
	AlwaysAllowPaths []string
	// AlwaysAllowGroups are groups whose members may read everything without a review.
	AlwaysAllowGroups []string
	// ShareRate bounds the uncached questions of each share (Caller.Share); the default is 50 per second and a burst of
	// 200. TotalRate bounds those of all shares; the default is 150 per second and a burst of 300. When the total is
	// short, shares beyond their fair part are refused first. TotalRate must be below the rate limit of Upstream, where
	// requests queue without regard to shares.
	ShareRate, TotalRate Rate

	// Extras decides whether the tokens of one service account share decisions. DetectExtras needs Metrics; without it
	// decisions are not shared.
	Extras  ExtrasMode
	Metrics MetricsReader

	Watches WatchAuthorizationConfig
	// Exists reports whether the user of a credential still exists. If nil, all users exist. It must not block. It is
	// called twice a second for each caller with watches. A caller is gone when two calls in a row return false.
	Exists func(user.Info) bool
	// Observer and Log may be nil.
	Observer Observer
	Log      *zap.Logger
}

// WatchAuthorizationConfig configures the reviews for watches. Zero values select the defaults.
type WatchAuthorizationConfig struct {
	// Upstream sends the reviews for watches. Reviews of requests must not delay it; the rates below already bound it. nil
	// selects the upstream of requests.
	Upstream Upstream
	// Every is the interval at which each decision with watches is reviewed without an observed change, jittered by up to
	// a fifth. The default is 30 s.
	Every time.Duration
	// PerSecond is the maximum rate of these periodic reviews; the default is 50. Watches with the same attributes share
	// one review. 5,000 kubelets with five watches each need 25,000 reviews, so the interval becomes 500 s. Changes in
	// webhooks and in the Node authorizer, which are not observed, take that long to have an effect. A higher rate would
	// use up a large part of the reviews that a kube-apiserver can serve to all its clients, about 1,500 per second.
	PerSecond float64
	// UrgentPerSecond is the maximum rate of reviews after an observed change of permissions; the default is 200.
	UrgentPerSecond float64
	// Debounce is the delay of a review after an observed change; the default is 100 ms. The upstream's authorizer needs
	// time to see the change in a watch of its own.
	Debounce time.Duration
	// SecondLook is the delay of a second review after a change, in case the upstream saw it late; the default is 2 s.
	SecondLook time.Duration
	// Hold is how long events wait for a review while the upstream does not answer; the default is 5 s.
	Hold time.Duration
	// ErrorGrace is how long a watch lasts without an answer to its reviews; the default is 5 min, plus up to a fifth.
	ErrorGrace time.Duration
}

func (c ReviewsConfig) withDefaults() ReviewsConfig {
	orDefault(&c.AllowedTTL, decisionTTL)
	orDefault(&c.DeniedTTL, decisionTTL)
	if c.AlwaysAllowPaths == nil {
		c.AlwaysAllowPaths = []string{"/livez", "/readyz", "/healthz"}
	}
	orDefault(&c.ShareRate, Rate{PerSecond: 50, Burst: 200})
	orDefault(&c.TotalRate, Rate{PerSecond: 150, Burst: 300})
	if c.Observer == nil {
		c.Observer = noObserver{}
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	c.Watches = c.Watches.withDefaults()
	if c.Watches.Upstream == nil {
		c.Watches.Upstream = c.Upstream
	}
	return c
}

func (c WatchAuthorizationConfig) withDefaults() WatchAuthorizationConfig {
	orDefault(&c.Every, 30*time.Second)
	orDefault(&c.PerSecond, 50)
	orDefault(&c.UrgentPerSecond, 200)
	orDefault(&c.Debounce, 100*time.Millisecond)
	orDefault(&c.SecondLook, 2*time.Second)
	orDefault(&c.Hold, 5*time.Second)
	orDefault(&c.ErrorGrace, 5*time.Minute)
	return c
}

func orDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}
