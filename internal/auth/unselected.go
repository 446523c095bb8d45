package auth

import (
	"context"
	"crypto/sha256"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// unselected returns the attributes of a list or watch without what it selects by, and whether it is worth to ask for
// the right to that first: who may read everything may read what a selector, or a name, leaves of it, whichever that is
// (KEP-4601), so one review serves all of them (docs/adr/0026-who-may-read-all-may-select.md). A node never may.
func (a Attributes) unselected() (Attributes, bool) {
	selects := len(a.Fields) > 0 || len(a.Labels) > 0 || a.Name != ""
	if !selects || a.Verb != "list" && a.Verb != "watch" || a.Subresource != "" || a.PassedThrough || a.Caller == nil {
		return a, false
	}
	if slices.Contains(a.Caller.Info.GetGroups(), user.NodesGroup) {
		return a, false
	}
	a.Name, a.Fields, a.Labels = "", nil, nil
	return a, true
}

// decideUnselected decides on attributes by the right to all that they select from. It allows nothing where that is
// refused, was just now, or is not known while there is a verdict on the attributes themselves: those are what counts
// then.
func (r *Reviews) decideUnselected(ctx context.Context, all, a Attributes, key string) (answer, Outcome, error) {
	q := newQuestion(all, all.key())
	known, ok := r.known(q)
	if !ok || !known.allowed {
		if ok && time.Since(known.made) < r.config.DeniedTTL {
			return answer{}, Denied, nil
		}
		if _, selected := r.known(newQuestion(a, key)); selected {
			return answer{}, Denied, nil
		}
	}
	return r.settleBy(ctx, q, known, ok)
}

// heldBy is what a lease on the attributes stands on: the right to everything, if it is by that that they were
// granted. Then thousands of watches that differ in their selectors are reviewed as one. The caller holds mu.
func (r *Reviews) heldBy(a Attributes) question {
	if all, worth := a.unselected(); worth {
		key := all.key()
		if v := r.verdicts.byHash[sha256.Sum256([]byte(key))]; v != nil && v.allowed && v.who.trusts(true, v.asked) {
			return newQuestion(all, key)
		}
	}
	return newQuestion(a, a.key())
}
