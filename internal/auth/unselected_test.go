package auth

import (
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/user"
)

// onNode is a watch of the pods of a node.
func onNode(who *Caller, node string) Attributes {
	a := podsOf(who, "")
	a.Fields = fields.OneTermEqualSelector("spec.nodeName", node).Requirements()
	return a
}

// onlyOn is an authorizer that lets pods be read with the selector of one node, and not without.
func onlyOn(node string) func(authorizationv1.SubjectAccessReviewSpec) bool {
	return func(spec authorizationv1.SubjectAccessReviewSpec) bool {
		selector := spec.ResourceAttributes.FieldSelector
		return selector != nil && len(selector.Requirements) == 1 && selector.Requirements[0].Values[0] == node
	}
}

// TestWhoMayReadAllMaySelect: one review serves all selectors of who may do without, and one lease's reviews all of
// their watches.
func TestWhoMayReadAllMaySelect(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		agent := person("agent")
		var leases []*WatchAuthorization
		for i := range 5000 {
			a := onNode(agent, fmt.Sprint("n", i))
			decision, err := r.Authorize(t.Context(), a)
			if err != nil || !decision.Covers(a) || decision.Covers(onNode(agent, "another")) || decision.Covers(podsOf(agent, "")) {
				t.Fatalf("%v; it covers %t", err, decision.Covers(a))
			}
			leases = append(leases, r.Hold(a))
		}
		if n := j.total(); n != 1 {
			t.Errorf("%d reviews", n)
		}
		if leases, decisions := r.Held(); leases != 5000 || decisions != 1 {
			t.Errorf("%d leases on %d decisions", leases, decisions)
		}
		j.set(func() { j.allow = onlyOn("n7") })
		r.Lost(named(agent.Name()))
		<-time.After(time.Second)
		for i, l := range leases {
			if got, _ := passes(t, l); got != "revoked" {
				t.Fatalf("%d: %s", i, got)
			}
		}
		if n := j.total(); n > 2 {
			t.Errorf("%d reviews of what was lost", n)
		}
		// What is left of the right is found when it is asked for.
		left := hold(t, r, onNode(agent, "n7"))
		if got := how(r, t.Context(), onNode(agent, "n8")); got != "denied" {
			t.Errorf("another node's: %s", got)
		}
		<-time.After(time.Minute)
		if got, _ := passes(t, left); got != "passes" {
			t.Errorf("what is left: %s", got)
		}
		left.Release()
	})
}

// TestWhoMayReadOnlyWithASelector is asked for without it once in a while, and not for each.
func TestWhoMayReadOnlyWithASelector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudge()
		j.allow = onlyOn("n1")
		r := NewReviews(ReviewsConfig{Upstream: j})
		who := person("agent")
		for _, c := range []struct {
			node, want string
			reviews    int
		}{
			{"n1", "granted", 2}, {"n1", "granted", 0}, {"n2", "denied", 1}, {"n3", "denied", 1}, {"n2", "denied", 0},
		} {
			if got, n := how(r, t.Context(), onNode(who, c.node)), j.total(); got != c.want || n != c.reviews {
				t.Errorf("%s: %s after %d reviews, want %s after %d", c.node, got, n, c.want, c.reviews)
			}
		}
		if got := how(r, t.Context(), podsOf(who, "")); got != "denied" || j.total() != 0 {
			t.Errorf("all: %s", got)
		}
		<-time.After(decisionTTL)
		if got, n := how(r, t.Context(), onNode(who, "n1")), j.total(); got != "granted" || n > 2 {
			t.Errorf("later: %s after %d reviews", got, n)
		}
	})
}

// TestSelectedWhileNobodyCanBeAsked: what was allowed with a selector still is, though nobody knows any more whether it
// is without.
func TestSelectedWhileNobodyCanBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudge()
		j.allow = onlyOn("n1")
		r := NewReviews(ReviewsConfig{Upstream: j, StaleOnError: time.Minute})
		who := person("agent")
		if got := how(r, t.Context(), onNode(who, "n1")); got != "granted" {
			t.Fatal(got)
		}
		j.set(func() { j.fail = syscall.ECONNREFUSED })
		<-time.After(30 * time.Second)
		for node, want := range map[string]string{"n1": "granted", "n2": "unavailable"} {
			if got := how(r, t.Context(), onNode(who, node)); got != want {
				t.Errorf("%s: %s", node, got)
			}
		}
		<-time.After(2 * time.Minute)
		if got := how(r, t.Context(), onNode(who, "n1")); got != "unavailable" {
			t.Errorf("after too long: %s", got)
		}
		<-time.After(reviewTimeout)
	})
}

// TestNodesAreAskedForWithTheirSelectors, and only so: the node authorizer refuses them everything else.
func TestNodesAreAskedForWithTheirSelectors(t *testing.T) {
	j := newJudge()
	j.allow = onlyOn("n1")
	r := NewReviews(ReviewsConfig{Upstream: j})
	node := person("system:node:n1", user.NodesGroup)
	if got, n := how(r, t.Context(), onNode(node, "n1")), j.total(); got != "granted" || n != 1 {
		t.Errorf("%s after %d reviews", got, n)
	}
}

// TestNamesAndLabelsAreSelectorsToo, but for a get.
func TestNamesAndLabelsAreSelectorsToo(t *testing.T) {
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
		who, verb, name, want string
		reviews               int
	}{
		{"admin", "list", "x", "granted", 1}, {"admin", "list", "y", "granted", 0}, {"admin", "watch", "y", "granted", 1},
		{"admin", "get", "x", "granted", 1}, {"admin", "get", "y", "granted", 1},
		{"alice", "list", "own", "granted", 2}, {"alice", "list", "x", "denied", 1}, {"alice", "list", "", "denied", 1},
		{"alice", "get", "own", "granted", 1},
	} {
		a := podsOf(person(c.who), "a")
		a.Verb, a.Name = c.verb, c.name
		if c.verb != "get" {
			a.Labels = requirements
		}
		if got, n := how(r, t.Context(), a), j.total(); got != c.want || n != c.reviews {
			t.Errorf("%s, %s %q: %s after %d reviews, want %s after %d", c.who, c.verb, c.name, got, n, c.want, c.reviews)
		}
	}
}
