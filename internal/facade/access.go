package facade

import (
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.uber.org/zap"
	"golang.org/x/time/rate"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/handlers"
	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/oplog"
	"github.com/listfacade/listfacade/internal/rbac"
	"github.com/listfacade/listfacade/internal/upstream"
)

type access struct {
	authenticator handlers.Authenticator
	authorizer    handlers.Authorizer
	selfReviewer  handlers.SelfReviewer // nil without authentication
	hints         func() *x509.CertPool // authorities of client certificates; nil without authentication
	trust         *auth.Trust           // nil without authentication
	reviewable    *reviewable           // nil without authentication
	parts         []func(context.Context)
	clients       []*upstream.Reviewer
	seats         map[string]*auth.Seats // by the host of the kube-apiserver
	paced         paced
}

// surroundings are the parts of the facade that newAccess needs.
type surroundings struct {
	config  *rest.Config     // address and credentials of the upstream that objects are read from
	client  *upstream.Client // client of the same upstream
	hop     upstream.Hop
	objects *boundObjects
	metrics *metrics.Metrics
	history *oplog.History
	log     *zap.Logger
}

// newAccess builds the authentication and authorization that the Config selects. It starts no goroutine.
func newAccess(c Config, s surroundings) (*access, error) {
	if c.Authentication.AnonymousActsAsKubeconfig {
		self := auth.NewSelf(s.client, c.MaxStaleness)
		return &access{authenticator: self, authorizer: self}, nil
	}
	a := &access{reviewable: &reviewable{log: s.log.Named("reviews")}, seats: map[string]*auth.Seats{}}
	a.parts = append(a.parts, a.reviewable.run)
	authentication, err := a.reviewer(c.Authentication.Kubeconfig, s)
	if err != nil {
		return nil, fmt.Errorf("create client for token reviews: %w", err)
	}
	authorization, err := a.reviewer(c.Authorization.Kubeconfig, s)
	if err != nil {
		return nil, fmt.Errorf("create client for access reviews: %w", err)
	}
	accounts, err := a.followAccounts(s)
	if err != nil {
		return nil, err
	}
	if err := a.authenticate(c.Authentication, authentication, accounts, s); err != nil {
		return nil, err
	}
	if err := a.authorize(c.Authorization, authorization, accounts, s); err != nil {
		return nil, err
	}
	return a, nil
}

// followAccounts adds two watches. The watch of service accounts shows deletions, which make tokens invalid. The watch
// of pods shows deletions of pods, which make the tokens that are bound to these pods invalid. It is open only while
// such tokens need it.
func (a *access) followAccounts(s surroundings) (*rbac.Accounts, error) {
	objects, err := metadata.NewForConfig(s.hop.Config(s.config))
	if err != nil {
		return nil, fmt.Errorf("create client for service accounts: %w", err)
	}
	log := s.log.Named("rbac")
	s.objects.pods = newPodWatch(func() (*rbac.Objects, error) { return rbac.NewObjects(objects, "pods", log) },
		s.objects.podsServed, log)
	accounts, err := rbac.NewAccounts(objects, s.objects.exists, log)
	if err != nil {
		return nil, fmt.Errorf("create client for service accounts: %w", err)
	}
	a.parts = append(a.parts, accounts.Run, s.objects.pods.run)
	return accounts, nil
}

// reviewer returns a reviewer with separate connections to the kubeconfig's server, or to the upstream if kubeconfig is
// empty.
func (a *access) reviewer(kubeconfig string, s surroundings) (*upstream.Reviewer, error) {
	config := s.config
	if kubeconfig != "" {
		var err error
		if config, err = RESTConfig(Config{Kubeconfig: kubeconfig}); err != nil {
			return nil, err
		}
	}
	reviewer, err := upstream.NewReviewer(config, s.hop, s.metrics, s.history, oplog.NewUpstreamLog(s.log))
	if err == nil {
		a.clients = append(a.clients, reviewer)
	}
	return reviewer, err
}

// seatsOf returns the seats for reviews at a kube-apiserver. Reviewers of the same server share them.
func (a *access) seatsOf(reviewer *upstream.Reviewer) *auth.Seats {
	host := reviewer.Host()
	if a.seats[host] == nil {
		a.seats[host] = auth.NewSeats()
	}
	return a.seats[host]
}

// paced counts the access reviews that wait at a host because their callers exceed --authz-miss-rate.
type paced struct {
	host    string
	waiting func() int // nil without authentication
}

func (a *access) reviewStats() []metrics.ReviewStats {
	var all []metrics.ReviewStats
	for _, host := range slices.Sorted(maps.Keys(a.seats)) {
		load := a.seats[host].Load()
		stats := metrics.ReviewStats{Host: host, Seats: load.All, InUse: load.Taken, Waiting: load.Waiting}
		if host == a.paced.host {
			stats.Paced = a.paced.waiting()
		}
		all = append(all, stats)
	}
	return all
}

var anonymousModes = map[string]auth.AnonymousMode{
	"upstream": auth.AnonymousAsUpstream, "true": auth.AnonymousOn, "false": auth.AnonymousOff,
}

// Bursts of rate limits, as multiples of the rate per second.
const (
	failureBurst = 5
	missBurst    = 4
)

func burst(perSecond float64, times float64) int { return max(1, int(times*perSecond)) }

func (a *access) authenticate(c Authentication, reviewer *upstream.Reviewer, accounts *rbac.Accounts,
	s surroundings) error {
	trust, err := auth.NewTrust(auth.TrustConfig{
		ClientCAFile: c.ClientCAFile, ProxyCAFile: c.RequestHeaderCAFile, ProxyNames: c.RequestHeaderNames,
		ProxyHeaders: auth.ProxyHeaders{Username: c.UsernameHeaders, UID: c.UIDHeaders, Group: c.GroupHeaders,
			ExtraPrefix: c.ExtraHeaderPrefixes},
		Upstream: reviewer, Log: s.log.Named("trust"),
	})
	if err != nil {
		return err
	}
	authenticator := auth.NewAuthenticator(auth.AuthenticatorConfig{
		Trust: trust, Tokens: reviewer, Seats: a.seatsOf(reviewer), Audiences: c.Audiences, SuccessTTL: c.TokenTTL,
		FailureTTL: c.TokenTTL, Bound: boundTokens(c, reviewer, accounts, s),
		Failures:  auth.FailureLimits{Source: rate.Limit(c.FailureRate), SourceBurst: burst(c.FailureRate, failureBurst)},
		Anonymous: anonymousModes[c.Anonymous], Probe: reviewer.Anonymous(), Outcomes: authenticationCounts{s.metrics},
		Log: oplog.Few(s.log.Named("authentication")),
	})
	a.authenticator, a.hints, a.trust = authenticator, trust.Hints, trust
	a.parts = append(a.parts, authenticator.Run)
	a.reviewable.reviews = append(a.reviewable.reviews, authenticator.CanReview)
	return nil
}

// authorize sets up access reviews and a watch of roles and bindings, which shows changes of permissions.
func (a *access) authorize(c Authorization, reviewer *upstream.Reviewer, accounts *rbac.Accounts,
	s surroundings) error {
	roles, err := rbac.NewClient(s.hop.Config(s.config))
	if err != nil {
		return fmt.Errorf("create client for roles and bindings: %w", err)
	}
	reviews := auth.NewReviews(auth.ReviewsConfig{
		Upstream: reviewer, Seats: a.seatsOf(reviewer), AllowedTTL: c.AllowedTTL, DeniedTTL: c.DeniedTTL,
		StaleOnError:     c.StaleOnError,
		AlwaysAllowPaths: c.AlwaysAllowPaths, AlwaysAllowGroups: c.AlwaysAllowGroups,
		Extras: auth.ExtrasMode(c.Extras), Metrics: reviewer,
		ShareRate: limit.Rate{PerSecond: c.MissRate, Burst: burst(c.MissRate, missBurst)},
		Watches:   auth.WatchAuthorizationConfig{Every: c.WatchReauthorize},
		Exists:    accounts.Exists, Observer: authorizationCounts{s.metrics}, Log: s.log.Named("authorization"),
	})
	a.authorizer, a.selfReviewer = reviews, reviews
	a.paced = paced{host: reviewer.Host(), waiting: reviews.Paced}
	rules, err := rbac.NewRules(roles, countedRights{Rights: reviews, metrics: s.metrics}, s.log.Named("rbac"))
	if err != nil {
		return fmt.Errorf("watch roles and bindings: %w", err)
	}
	a.parts = append(a.parts, reviews.Run, rules.Run)
	a.reviewable.reviews = append(a.reviewable.reviews, reviews.CanReview)
	return nil
}

func (a *access) run(ctx context.Context) {
	var parts sync.WaitGroup
	for _, part := range a.parts {
		parts.Go(func() { part(ctx) })
	}
	parts.Wait()
}

func (a *access) closeIdle() {
	for _, client := range a.clients {
		client.CloseIdle()
	}
}
