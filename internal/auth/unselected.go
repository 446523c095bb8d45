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

// decideSelected decides on attributes by what is known without their selectors, or is asked of that. Where that is
// refused, or was just now, and where there is a verdict on the attributes themselves already, those are what counts.
func (r *Reviews) decideSelected(ctx context.Context, a, all Attributes, key string) (answer, Outcome, error) {
	allKey := all.key()
	if r.asksForAll(newQuestion(all, allKey), newQuestion(a, key)) {
		said, outcome, err := r.decide(ctx, all, allKey)
		if err != nil || said.allowed {
			return said, outcome, err
		}
	}
	return r.decide(ctx, a, key)
}

func (r *Reviews) asksForAll(all, selected question) bool {
	known, ok := r.known(all)
	switch {
	case ok && known.allowed:
		return true
	case ok && time.Since(known.made) < r.config.DeniedTTL:
		return false
	}
	_, ok = r.known(selected)
	return !ok
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
