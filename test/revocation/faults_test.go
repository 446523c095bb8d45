package revocation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// keptFor is how long the facade of these tests caches reviews, instead of ten seconds.
const keptFor = 2 * time.Second

// faultLasts is the duration of each fault: LISTFACADE_FAULTS, or a little longer than reviews are cached.
func faultLasts(t *testing.T) time.Duration {
	t.Helper()
	return settings.Duration(t, "LISTFACADE_FAULTS", keptFor+500*time.Millisecond)
}

// ward is a facade whose reviews can fail, with the callers and watches that the test observes.
type ward struct {
	*place
	run            *suite.Facade
	tokens, rights *reviews
	certified      *testkit.Oracle // a user with a certificate who may read
	stranger       *testkit.Oracle // a user without rights
	bearers        *testkit.Oracle // a user with a token who may read
	watches        []*watched
	asked          int // number of distinct requests that unseen has made
}

func newWard(t *testing.T) *ward {
	t.Helper()
	c := suite.Cluster(t)
	w := &ward{place: newPlace(t, c), tokens: newReviews(t, c), rights: newReviews(t, c)}
	w.run = suite.StartDelegating(t, c, func(c *facade.Config) {
		c.Authentication.Kubeconfig, c.Authorization.Kubeconfig = w.tokens.kubeconfig, w.rights.kubeconfig
		c.Authentication.TokenTTL, c.Authorization.AllowedTTL, c.Authorization.DeniedTTL = keptFor, keptFor, keptFor
		c.Authorization.WatchReauthorize = time.Second
	})
	w.addRole(t)
	who := newUser()
	w.bind(t, "Role", reader, aUser(who), aGroup(w.accounts()))
	w.certified = w.askers(t, w.run, c.ConfigOf(t, who))
	w.stranger = w.askers(t, w.run, c.ConfigOf(t, newUser()))
	w.bearers = w.askers(t, w.run, w.bearer(t, "robot", testkit.TokenOptions{}))
	w.watches = []*watched{
		w.watch(t, w.certified, ways["JSON"]), w.watch(t, w.bearers, ways["protobuf"]), w.watch(t, w.bearers, ways["forwarded"]),
	}
	return w
}

// unseen returns a request for an object that does not exist and that no request named before. No cached decision
// answers it.
func (w *ward) unseen() testkit.Question {
	w.asked++
	return testkit.Question{Path: fmt.Sprintf("%s/o-%d", suite.Collection(suite.ConfigMaps, w.Namespace), w.asked)}
}

// allowed is the code for an allowed request, as the objects do not exist.
const allowed = http.StatusNotFound

// newcomer returns an asker with a token that the facade has not seen before.
func (w *ward) newcomer(t *testing.T) *testkit.Asker {
	t.Helper()
	return w.askers(t, w.run, w.bearer(t, "robot", testkit.TokenOptions{})).Facade
}

// The test makes TokenReviews fail in each way. No valid token receives 401. Cached reviews remain valid until they
// expire. Certificates and open watches are not affected.
func TestTokenReviewFaultsRejectNoToken(t *testing.T) {
	w := newWard(t)
	w.each(t, w.tokens, func(t *testing.T, f fault) {
		known, began := w.newcomer(t), time.Now()
		if err := wants(known.MustAsk(t, w.unseen()).Code, allowed); err != nil {
			t.Fatal(err)
		}
		answered := time.Now()
		f.begin(t, w.tokens)
		w.during(t, func(t *testing.T) error {
			asked := time.Now()
			answer := known.MustAsk(t, w.unseen())
			if err := kept(f, answer, asked, began, answered); err != nil {
				return fmt.Errorf("a token with a cached review: %w", err)
			}
			if err := f.unreviewed(t, w.newcomer(t), w.unseen()); err != nil {
				return fmt.Errorf("a token without a cached review: %w", err)
			}
			return errors.Join(wants(w.certified.Facade.MustAsk(t, w.unseen()).Code, allowed), wants(w.stranger.Facade.MustAsk(t, w.unseen()).Code, http.StatusForbidden))
		})
	})
}

// The test makes SubjectAccessReviews fail in each way. Only requests with a cached decision are allowed, and no
// request receives 403 because a review failed.
func TestAccessReviewFaultsAllowNothingNew(t *testing.T) {
	w := newWard(t)
	w.each(t, w.rights, func(t *testing.T, f fault) {
		may, denied, began := w.unseen(), w.unseen(), time.Now()
		if err := errors.Join(wants(w.certified.Facade.MustAsk(t, may).Code, allowed), wants(w.stranger.Facade.MustAsk(t, denied).Code, http.StatusForbidden)); err != nil {
			t.Fatal(err)
		}
		answered := time.Now()
		f.begin(t, w.rights)
		w.during(t, func(t *testing.T) error {
			asked := time.Now()
			if err := kept(f, w.certified.Facade.MustAsk(t, may), asked, began, answered); err != nil {
				return fmt.Errorf("a request that was allowed before: %w", err)
			}
			if answer := w.stranger.Facade.MustAsk(t, denied); answer.Code != http.StatusForbidden && isGeneric(answer) != nil {
				return fmt.Errorf("a request that was denied before: %d %s", answer.Code, answer.Body)
			}
			if answer := w.stranger.Facade.MustAsk(t, w.unseen()); answer.Code != http.StatusForbidden && isGeneric(answer) != nil || answer.Code == http.StatusForbidden && !f.late {
				return fmt.Errorf("a stranger: %d %s", answer.Code, answer.Body)
			}
			return errors.Join(f.unreviewed(t, w.certified.Facade, w.unseen()), f.unreviewed(t, w.bearers.Facade, w.unseen()))
		})
	})
}

// kept checks an answer to a caller whose review was answered between began and answered, just before the fault.
func kept(f fault, a *testkit.Answer, asked, began, answered time.Time) error {
	switch {
	case time.Since(began) < keptFor:
		return wants(a.Code, allowed)
	case asked.After(answered.Add(keptFor)):
		return f.unasked(a, time.Since(asked))
	case a.Code != allowed:
		return isGeneric(a)
	default:
		return nil
	}
}

// unreviewed sends a request whose review fails, and checks its answer.
func (f fault) unreviewed(t *testing.T, asker *testkit.Asker, q testkit.Question) error {
	t.Helper()
	asked := time.Now()
	return f.unasked(asker.MustAsk(t, q), time.Since(asked))
}

// reviewTimeout is how long the facade waits for a review.
const reviewTimeout = 5 * time.Second

// unasked checks an answer, which took this long, to a request whose review fails. On a busy machine, a late review may
// come after its timeout.
func (f fault) unasked(a *testkit.Answer, took time.Duration) error {
	if f.late && (took < reviewTimeout || a.Code == allowed) {
		return wants(a.Code, allowed)
	}
	return isGeneric(a)
}

// each runs the test with each fault, and checks that the facade recovers.
func (w *ward) each(t *testing.T, r *reviews, begin func(*testing.T, fault)) {
	w.recovers(t)
	before, watched := busy(), r.confirmed(time.Time{})
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			begin(t, f)
			stopInformer, informer := w.inform(t)
			f.ends(t, r)
			over := time.Now()
			w.recovers(t)
			if faultLasts(t) >= time.Minute { // without a review in between, a watch sees two faults as one
				r.confirms(t, watched, over)
			}
			w.Converges(t, suite.ConfigMaps, informer)
			stopInformer()
		})
	}
	for _, x := range w.watches {
		x.tells(t, "over")
	}
	testkit.Eventually(t, "the goroutines have ended", func() error {
		if now := busy(); now > before+5 {
			return fmt.Errorf("got %d goroutines, want at most 5 more than %d", now, before)
		}
		return nil
	})
}

// confirms waits until the authorizations of all watches were reviewed again.
func (r *reviews) confirms(t *testing.T, watched map[string]bool, since time.Time) {
	t.Helper()
	testkit.Eventually(t, "watch authorizations are reviewed again", func() error {
		confirmed := r.confirmed(since)
		for asked := range watched {
			if !confirmed[asked] {
				return fmt.Errorf("not yet reviewed: %s", asked)
			}
		}
		return nil
	})
}

// busy counts the goroutines that serve requests, call the upstream, or watch it.
func busy() int {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	n := 0
	for stack := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		for _, part := range []string{"handlers", "internal/auth", "internal/upstream", "internal/rbac", "internal/reflector"} {
			if bytes.Contains(stack, []byte("listfacade/listfacade/"+part)) {
				n++
				break
			}
		}
	}
	return n
}

// during repeats the requests, at a low rate, until the fault has lasted long enough. Watches that were opened before
// the fault continue.
func (w *ward) during(t *testing.T, ask func(*testing.T) error) {
	t.Helper()
	for until := time.Now().Add(faultLasts(t)); time.Now().Before(until); {
		for _, x := range w.watches {
			x.tells(t, fmt.Sprint(time.Now()))
		}
		if err := ask(t); err != nil {
			t.Error(err)
			return
		}
		<-time.After(time.Duration(settings.Amount(250, 100)) * time.Millisecond) //pace: requests are spread over the fault
	}
}

// recovers waits until requests without cached reviews are answered as before the fault.
func (w *ward) recovers(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "all callers are answered", func() error {
		return errors.Join(
			wants(w.newcomer(t).MustAsk(t, w.unseen()).Code, allowed), wants(w.certified.Facade.MustAsk(t, w.unseen()).Code, allowed),
			wants(w.stranger.Facade.MustAsk(t, w.unseen()).Code, http.StatusForbidden),
		)
	})
}

// inform starts an informer with a token that the facade has not seen before.
func (w *ward) inform(t *testing.T) (stop func(), informer toolscache.SharedIndexInformer) {
	t.Helper()
	config := w.run.ConfigOf(w.bearer(t, "robot", testkit.TokenOptions{}))
	clients, err := kubernetes.NewForConfig(rest.CopyConfig(config))
	must(t, err)
	informer = informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(w.Namespace)).Core().V1().ConfigMaps().Informer()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); informer.RunWithContext(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop, informer
}
