package auth

import (
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// ReviewsConfig is what there is to turn. Zero values stand for the defaults.
type ReviewsConfig struct {
	Upstream Upstream // required

	// AllowedTTL and DeniedTTL are how long a decision is not asked for again: 10 s each, as kube-apiserver's delegating
	// authorizers have it.
	AllowedTTL, DeniedTTL time.Duration
	// StaleOnError is for how long after AllowedTTL what was allowed still is, while the upstream cannot be asked; 0 is
	// not at all.
	StaleOnError time.Duration
	// AlwaysAllowPaths are paths that are no resource's and that anybody may read, with all below them; nil stands for
	// /livez, /readyz and /healthz.
	AlwaysAllowPaths []string
	// AlwaysAllowGroups are the groups whose members may read everything without a review.
	AlwaysAllowGroups []string
	// ShareRate bounds the questions of each caller's share (Caller.Share) that are not known yet, 50 a second and 200
	// at once, and TotalRate those of all, 150 and 300. When the total is short, those wait first who had more than
	// their part of it. It is to be below the pace at which Upstream asks: a queue there is nobody's turn in particular.
	ShareRate, TotalRate Rate

	Watches WatchAuthorizationConfig
	// Exists says whether who a credential names is still there; nil is yes. It returns at once. It is asked twice a
	// second for each identity that holds a lease, and believed the second time that it says no.
	Exists func(user.Info) bool
	// Observer may be nil.
	Observer Observer
}

// WatchAuthorizationConfig is when leases are reviewed. Zero values stand for the defaults.
type WatchAuthorizationConfig struct {
	// Upstream is asked on behalf of leases: one that no question of a request holds up, since what is below bounds
	// these reviews already. nil stands for the one that requests ask.
	Upstream Upstream
	// Every is how often each decision that a lease stands on is reviewed, without any hint that it has changed: 30 s, up
	// to a fifth more or less.
	Every time.Duration
	// PerSecond bounds these reviews, all together: 50. A hundred watches of the same are one. 5,000 kubelets with five
	// watches each are 25,000, for which Every becomes 500 s: authorizers that do not tell of changes (webhooks, the node
	// authorizer) are then followed so much later, and a kube-apiserver that takes 1,500 reviews a second of all its
	// clients is not made to spend half of that here.
	PerSecond float64
	// UrgentPerSecond bounds the reviews that follow a change of rights: 200.
	UrgentPerSecond float64
	// Debounce is how long after a change the upstream is asked: 100 ms. Its authorizer reads the rules from a watch of
	// its own.
	Debounce time.Duration
	// SecondLook is how long after a change the upstream is asked once more, in case it learned of it late: 2 s.
	SecondLook time.Duration
	// Hold is how long events wait for a review that cannot be had: 5 s.
	Hold time.Duration
	// ErrorGrace is how long a lease lasts whose reviews are not answered: 5 min, up to a fifth more.
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
		c.Observer = nobody{}
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
