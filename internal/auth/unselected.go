package auth

import (
	"context"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// unselected returns the attributes of a list or watch without its selectors and name, and reports whether to review
// these attributes first. A user who may read all objects may also read a selection of them (KEP-4601), so one review
// serves all selectors (docs/adr/0026-reviews-of-selectors.md). Nodes are excluded, because the Node authorizer never
// lets them read all objects.
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

// decideUnselected decides by the permission to read without selectors. If that permission is refused, the calling
// function must decide by the attributes with selectors. decideUnselected sends no review if a cached verdict on one of
// the two questions is enough.
func (r *Reviews) decideUnselected(ctx context.Context, all, a Attributes, p period) (answer, Outcome, error) {
	q := newQuestion(all, p)
	known, ok := r.known(q)
	if !ok || !known.allowed {
		if ok && time.Since(known.made) < r.config.DeniedTTL {
			return answer{}, Denied, nil
		}
		if _, selected := r.known(newQuestion(a, p)); selected {
			return answer{}, Denied, nil
		}
	}
	return r.settleBy(ctx, q, known, ok)
}

// watchQuestion returns the question on whose answer a watch depends. If a cached answer allows the watch without
// selectors, this is the question without selectors, so that watches with different selectors share one review. The
// caller holds mu.
func (r *Reviews) watchQuestion(a Attributes) question {
	if all, ok := a.unselected(); ok {
		q := newQuestion(all, r.period())
		if v := r.verdicts.byHash[q.hash]; v != nil && v.allowed && v.subject.trusts(true, v.asked) {
			return q
		}
	}
	return newQuestion(a, r.period())
}
