package auth

import (
	"time"

	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/limit"
)

// ReviewsConfig configures Reviews. Zero values select the defaults.
type ReviewsConfig struct {
	Upstream Upstream // required
	// Seats bounds the reviews at Upstream; nil selects new Seats.
	Seats *Seats

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
	// ShareRate bounds the uncached questions of each caller (Caller.Share); the default is 50 per second and a burst of
	// 200. Callers of a group (Caller.Group) together may ask ten times as many. Further questions wait.
	ShareRate limit.Rate

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
	// Every is the interval at which each decision with watches is reviewed without an observed change, jittered by up to
	// a fifth. The default is 30 s.
	Every time.Duration
	// PerSecond is the maximum rate of these periodic reviews; the default is 50. Watches with the same attributes share
	// one review. 5,000 kubelets with five watches each need 25,000 reviews, so the interval becomes 500 s. Changes in
	// webhooks and in the Node authorizer, which are not observed, take that long to have an effect. Without this rate,
	// periodic reviews would keep kube-apiserver busy.
	PerSecond float64
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
	orDefault(&c.ShareRate, limit.Rate{PerSecond: 50, Burst: 200})
	if c.Seats == nil {
		c.Seats = NewSeats()
	}
	if c.Observer == nil {
		c.Observer = noObserver{}
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	c.Watches = c.Watches.withDefaults()
	return c
}

func (c WatchAuthorizationConfig) withDefaults() WatchAuthorizationConfig {
	orDefault(&c.Every, 30*time.Second)
	orDefault(&c.PerSecond, 50)
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
