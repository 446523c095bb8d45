package auth

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// onNode returns the attributes of a watch of the pods on a node.
func onNode(caller *Caller, node string) Attributes {
	a := podsOf(caller, "")
	a.Fields = fields.OneTermEqualSelector("spec.nodeName", node).Requirements()
	return a
}

// onlyOn is an authorizer that allows to read pods with the selector of one node only.
func onlyOn(node string) func(authorizationv1.SubjectAccessReviewSpec) bool {
	return func(spec authorizationv1.SubjectAccessReviewSpec) bool {
		selector := spec.ResourceAttributes.FieldSelector
		return selector != nil && len(selector.Requirements) == 1 && selector.Requirements[0].Values[0] == node
	}
}

// One review serves all selectors of a user who may read without them, and the watches share the reviews after it.
func TestUserWhoMayReadAllNeedsOneReview(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		agent := person("agent")
		var watches []*WatchAuthorization
		for i := range 5000 {
			a := onNode(agent, fmt.Sprint("n", i))
			decision, err := r.Authorize(t.Context(), a)
			if err != nil || !decision.Covers(a) || decision.Covers(onNode(agent, "another")) || decision.Covers(podsOf(agent, "")) {
				t.Fatalf("got %v; the decision covers the question: %t", err, decision.Covers(a))
			}
			watches = append(watches, r.AuthorizeWatch(a))
		}
		if n := j.total(); n != 1 {
			t.Errorf("got %d reviews, want 1", n)
		}
		if watches, decisions := r.WatchAuthorizations(); watches != 5000 || decisions != 1 {
			t.Errorf("got %d watches and %d decisions, want 5000 and 1", watches, decisions)
		}
		j.set(func() { j.allow = onlyOn("n7") })
		r.Lost(named(agent.Name()))
		<-time.After(time.Second)
		for i, w := range watches {
			if got, _ := checkResult(t, w); got != "revoked" {
				t.Fatalf("watch %d: got %s, want revoked", i, got)
			}
		}
		if n := j.total(); n > 2 {
			t.Errorf("got %d reviews after the loss, want 2 at most", n)
		}
		// A remaining permission for one selector is found by a request.
		left := hold(t, r, onNode(agent, "n7"))
		if got := outcome(r, t.Context(), onNode(agent, "n8")); got != "denied" {
			t.Errorf("another node: got %s, want denied", got)
		}
		<-time.After(time.Minute)
		if got, _ := checkResult(t, left); got != "passes" {
			t.Errorf("the permitted node: got %s, want passes", got)
		}
		left.Release()
	})
}

// A user who may read only with a selector is reviewed without it once, and not for each selector.
func TestUserWithSelectorOnlyIsReviewedPerSelector(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j := newJudge()
		j.allow = onlyOn("n1")
		r := NewReviews(ReviewsConfig{Upstream: j})
		caller := person("agent")
		for _, c := range []struct {
			node, want string
			reviews    int
		}{
			{"n1", "granted", 2}, {"n1", "granted", 0}, {"n2", "denied", 1}, {"n3", "denied", 1}, {"n2", "denied", 0},
		} {
			if got, n := outcome(r, t.Context(), onNode(caller, c.node)), j.total(); got != c.want || n != c.reviews {
				t.Errorf("%s: got %s after %d reviews, want %s after %d", c.node, got, n, c.want, c.reviews)
			}
		}
		if got := outcome(r, t.Context(), podsOf(caller, "")); got != "denied" || j.total() != 0 {
			t.Errorf("without a selector: got %s, want denied without a review", got)
		}
		<-time.After(decisionTTL)
		if got, n := outcome(r, t.Context(), onNode(caller, "n1")), j.total(); got != "granted" || n > 2 {
			t.Errorf("after the time to live: got %s after %d reviews", got, n)
		}
	})
}

// A permission for a selector stays valid in an outage, even if the refusal without the selector has expired.
func TestSelectedPermissionStaysValidInAnOutage(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j := newJudge()
		j.allow = onlyOn("n1")
		r := NewReviews(ReviewsConfig{Upstream: j, StaleOnError: time.Minute})
		caller := person("agent")
		if got := outcome(r, t.Context(), onNode(caller, "n1")); got != "granted" {
			t.Fatal(got)
		}
		j.set(func() { j.fail = syscall.ECONNREFUSED })
		<-time.After(30 * time.Second)
		for node, want := range map[string]string{"n1": "granted", "n2": "unavailable"} {
			if got := outcome(r, t.Context(), onNode(caller, node)); got != want {
				t.Errorf("%s: got %s, want %s", node, got, want)
			}
		}
		<-time.After(2 * time.Minute)
		if got := outcome(r, t.Context(), onNode(caller, "n1")); got != "unavailable" {
			t.Errorf("after StaleOnError: got %s, want unavailable", got)
		}
		<-time.After(reviewTimeout)
	})
}

// Nodes are reviewed with their selectors only, because the Node authorizer refuses them everything else.
func TestNodesAreReviewedWithSelectorsOnly(t *testing.T) {
	j := newJudge()
	j.allow = onlyOn("n1")
	r := NewReviews(ReviewsConfig{Upstream: j})
	node := person("system:node:n1", user.NodesGroup)
	if got, n := outcome(r, t.Context(), onNode(node, "n1")), j.total(); got != "granted" || n != 1 {
		t.Errorf("got %s after %d reviews, want granted after 1", got, n)
	}
}

// A name or a label selector of a list or watch counts as a selector; the name of a get does not.
func TestNamesAndLabelsCountAsSelectors(t *testing.T) {
	j := newJudge()
	j.allow = func(spec authorizationv1.SubjectAccessReviewSpec) bool {
		return spec.User == "admin" || spec.ResourceAttributes.Name == "own"
	}
	r := NewReviews(ReviewsConfig{Upstream: j})
	requirements, err := labels.ParseToRequirements("a=b")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		caller, verb, name, want string
		reviews                  int
	}{
		{"admin", "list", "x", "granted", 1}, {"admin", "list", "y", "granted", 0}, {"admin", "watch", "y", "granted", 1},
		{"admin", "get", "x", "granted", 1}, {"admin", "get", "y", "granted", 1},
		{"alice", "list", "own", "granted", 2}, {"alice", "list", "x", "denied", 1}, {"alice", "list", "", "denied", 1},
		{"alice", "get", "own", "granted", 1},
	} {
		a := podsOf(person(c.caller), "a")
		a.Verb, a.Name = c.verb, c.name
		if c.verb != "get" {
			a.Labels = requirements
		}
		if got, n := outcome(r, t.Context(), a), j.total(); got != c.want || n != c.reviews {
			t.Errorf("%s, %s %q: got %s after %d reviews, want %s after %d", c.caller, c.verb, c.name, got, n, c.want, c.reviews)
		}
	}
}
