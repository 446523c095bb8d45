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

// keptFor is for how long the facade of these tests believes what was answered, instead of ten seconds.
const keptFor = 2 * time.Second

// faultLasts is how long each fault lasts: LISTFACADE_FAULTS, or just longer than answers are believed.
func faultLasts(t *testing.T) time.Duration {
	t.Helper()
	return settings.Duration(t, "LISTFACADE_FAULTS", keptFor+500*time.Millisecond)
}

// ward is a facade whose reviews can be broken, and those who are watched while they are.
type ward struct {
	*place
	run            *suite.Facade
	tokens, rights *reviews
	certified      *testkit.Oracle // a reader with a certificate
	stranger       *testkit.Oracle // somebody who may read nothing
	bearers        *testkit.Oracle // a reader with a token
	watches        []*watched
	asked          int // questions that were not asked before
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
	who := somebody()
	w.bind(t, "Role", reader, aUser(who), aGroup(w.accounts()))
	w.certified = w.askers(t, w.run, c.ConfigOf(t, who))
	w.stranger = w.askers(t, w.run, c.ConfigOf(t, somebody()))
	w.bearers = w.askers(t, w.run, w.bearer(t, "robot", testkit.TokenOptions{}))
	w.watches = []*watched{
		w.watch(t, w.certified, ways["JSON"]), w.watch(t, w.bearers, ways["protobuf"]), w.watch(t, w.bearers, ways["passed through"]),
	}
	return w
}

// anew is a question that nobody has asked before, for an object that is not there: the right to get it follows from no
// other.
func (w *ward) anew() testkit.Question {
	w.asked++
	return testkit.Question{Path: fmt.Sprintf("%s/o-%d", suite.Collection(suite.ConfigMaps, w.Namespace), w.asked)}
}

// allowed is how who may get an object is told that it is not there.
const allowed = http.StatusNotFound

// newcomer asks with a token that nobody has shown before.
func (w *ward) newcomer(t *testing.T) *testkit.Asker {
	t.Helper()
	return w.askers(t, w.run, w.bearer(t, "robot", testkit.TokenOptions{})).Facade
}

// Test36TokenReviewFaults breaks TokenReviews in each way: nobody is told that his token is bad, who was known stays
// known for as long as that is believed, certificates and watches know nothing of it.
func Test36TokenReviewFaults(t *testing.T) {
	w := newWard(t)
	w.each(t, w.tokens, func(t *testing.T, f fault) {
		known, began := w.newcomer(t), time.Now()
		if err := wants(known.MustAsk(t, w.anew()).Code, allowed); err != nil {
			t.Fatal(err)
		}
		answered := time.Now()
		f.begin(t, w.tokens)
		w.during(t, func(t *testing.T) error {
			asked := time.Now()
			answer := known.MustAsk(t, w.anew())
			if err := kept(f, answer, asked, began, answered); err != nil {
				return fmt.Errorf("a token that is known: %w", err)
			}
			if err := f.unasked(w.newcomer(t).MustAsk(t, w.anew())); err != nil {
				return fmt.Errorf("a token that is not known: %w", err)
			}
			return errors.Join(wants(w.certified.Facade.MustAsk(t, w.anew()).Code, allowed), wants(w.stranger.Facade.MustAsk(t, w.anew()).Code, http.StatusForbidden))
		})
	})
}

// Test36AccessReviewFaults breaks SubjectAccessReviews in each way: nothing is allowed that was not just allowed, and
// nobody is refused for lack of an answer.
func Test36AccessReviewFaults(t *testing.T) {
	w := newWard(t)
	w.each(t, w.rights, func(t *testing.T, f fault) {
		may, denied, began := w.anew(), w.anew(), time.Now()
		if err := errors.Join(wants(w.certified.Facade.MustAsk(t, may).Code, allowed), wants(w.stranger.Facade.MustAsk(t, denied).Code, http.StatusForbidden)); err != nil {
			t.Fatal(err)
		}
		answered := time.Now()
		f.begin(t, w.rights)
		w.during(t, func(t *testing.T) error {
			asked := time.Now()
			if err := kept(f, w.certified.Facade.MustAsk(t, may), asked, began, answered); err != nil {
				return fmt.Errorf("what was allowed: %w", err)
			}
			if answer := w.stranger.Facade.MustAsk(t, denied); answer.Code != http.StatusForbidden && isGeneric(answer) != nil {
				return fmt.Errorf("what was denied: %d %s", answer.Code, answer.Body)
			}
			if answer := w.stranger.Facade.MustAsk(t, w.anew()); answer.Code != http.StatusForbidden && isGeneric(answer) != nil || answer.Code == http.StatusForbidden && !f.late {
				return fmt.Errorf("a stranger: %d %s", answer.Code, answer.Body)
			}
			return errors.Join(f.unasked(w.certified.Facade.MustAsk(t, w.anew())), f.unasked(w.bearers.Facade.MustAsk(t, w.anew())))
		})
	})
}

// kept holds an answer to a question of somebody who was answered just before the fault, between began and answered.
func kept(f fault, a *testkit.Answer, asked, began, answered time.Time) error {
	switch {
	case time.Since(began) < keptFor:
		return wants(a.Code, allowed)
	case asked.After(answered.Add(keptFor)):
		return f.unasked(a)
	case a.Code != allowed:
		return isGeneric(a)
	default:
		return nil
	}
}

// unasked holds an answer that nobody could be asked for.
func (f fault) unasked(a *testkit.Answer) error {
	if f.late {
		return wants(a.Code, allowed)
	}
	return isGeneric(a)
}

// each does what is to be done about each fault, and holds the facade to its recovery.
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
			if faultLasts(t) >= time.Minute { // two faults that nothing is reviewed between are one for a lease, and too long
				r.confirms(t, watched, over)
			}
			w.Converges(t, suite.ConfigMaps, informer)
			stopInformer()
		})
	}
	for _, x := range w.watches {
		x.tells(t, "over")
	}
	testkit.Eventually(t, "there are no more goroutines than before", func() error {
		if now := busy(); now > before+5 {
			return fmt.Errorf("%d, before %d", now, before)
		}
		return nil
	})
}

// confirms waits until rights to watch were reviewed again.
func (r *reviews) confirms(t *testing.T, watched map[string]bool, since time.Time) {
	t.Helper()
	testkit.Eventually(t, "leases are reviewed again", func() error {
		confirmed := r.confirmed(since)
		for asked := range watched {
			if !confirmed[asked] {
				return fmt.Errorf("not yet: %s", asked)
			}
		}
		return nil
	})
}

// busy counts the goroutines that answer requests, ask the upstream, or follow it.
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

// during asks again and again until the fault has lasted, but not as fast as it can: more answers of the same time say
// no more. The watches of before it go on.
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
		<-time.After(time.Duration(settings.Amount(250, 100)) * time.Millisecond) //pace: answers of the whole fault
	}
}

// recovers waits until newcomers of all kinds are answered as before.
func (w *ward) recovers(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "everybody is answered", func() error {
		return errors.Join(
			wants(w.newcomer(t).MustAsk(t, w.anew()).Code, allowed), wants(w.certified.Facade.MustAsk(t, w.anew()).Code, allowed),
			wants(w.stranger.Facade.MustAsk(t, w.anew()).Code, http.StatusForbidden),
		)
	})
}

// inform starts an informer with a token that nobody has shown before.
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
