package rbac

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.uber.org/zap"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/user"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"
)

// Affected has a function for each namespace whose requests a change may affect. The function reports whether a user is
// affected. The namespace "" stands for all requests: those in each namespace, over all namespaces and without a
// namespace. The functions may be called at any time and from any goroutine.
type Affected = map[string]func(user.Info) bool

// Rights receives the users whose permissions may have changed, and the namespaces.
type Rights interface {
	// Gained is called when permissions were only added.
	Gained(affected Affected)
	// Lost is called when permissions may have been removed. The same change may have added other permissions.
	Lost(affected Affected)
}

// Rules watches roles and bindings.
type Rules struct {
	rights                    Rights
	roles, clusterRoles       *followed
	bindings, clusterBindings *followed
	shrunk                    *lru.Cache        // roles that have lost rules (shrunkKey)
	late                      map[string]string // annotations of all bindings that were received late
}

// maxShrunk is the maximum number of keys in Rules.shrunk; the least recently used is dropped first. Each takes about
// 200 bytes. For a role whose key was dropped, late bindings and their new subjects are reported with Rights.Gained.
const maxShrunk = 8192

// shrunkKey returns the key of a role in Rules.shrunk. All Roles of a namespace have one key, so a user who may change
// the roles of a namespace cannot displace the keys of others.
func shrunkKey(role string) string {
	if namespace, _, ok := strings.Cut(role, "/"); ok {
		return namespace + "/"
	}
	return role
}

type sources struct {
	roles, clusterRoles, bindings, clusterBindings toolscache.ListerWatcher
}

// NewRules returns Rules for the roles and bindings of an upstream. It starts no goroutine.
func NewRules(client toolscache.Getter, rights Rights, log *zap.Logger) (*Rules, error) {
	of := func(resource string) toolscache.ListerWatcher {
		return toolscache.NewListWatchFromClient(client, resource, "", fields.Everything())
	}
	return newRules(sources{of("roles"), of("clusterroles"), of("rolebindings"), of("clusterrolebindings")}, rights, log)
}

func newRules(from sources, rights Rights, log *zap.Logger) (*Rules, error) {
	r := &Rules{rights: rights, shrunk: lru.New(maxShrunk), late: map[string]string{lateMark: ""}}
	onRole := handler{added: r.roleAdded, changed: r.roleChanged, deleted: r.roleDeleted}
	onBinding := handler{listed: r.bindingListed, added: r.bindingAdded, changed: r.bindingChanged,
		deleted: r.bindingDeleted}
	index := toolscache.Indexers{byRole: indexByRole}
	var errs [4]error
	r.bindings, errs[0] = follow(kind{"rolebindings", &rbacv1.RoleBinding{}, from.bindings, index, r.trimBinding,
		onBinding}, log)
	r.clusterBindings, errs[1] = follow(kind{"clusterrolebindings", &rbacv1.ClusterRoleBinding{}, from.clusterBindings,
		index, r.trimBinding, onBinding}, log)
	r.roles, errs[2] = follow(kind{"roles", &rbacv1.Role{}, from.roles, toolscache.Indexers{}, trim, onRole}, log)
	r.clusterRoles, errs[3] = follow(kind{"clusterroles", &rbacv1.ClusterRole{}, from.clusterRoles, toolscache.Indexers{},
		trim, onRole}, log)
	return r, errors.Join(errs[:]...)
}

// Run watches roles and bindings until the context ends.
func (r *Rules) Run(ctx context.Context) {
	run(ctx, r.bindings, r.clusterBindings, r.roles, r.clusterRoles)
}

// Failure returns an error before the first list of each kind, and while one of the kinds cannot be watched.
func (r *Rules) Failure() error {
	return errors.Join(r.bindings.state(), r.clusterBindings.state(), r.roles.state(), r.clusterRoles.state())
}

// bindingListed is called for each binding of the first list.
func (r *Rules) bindingListed(object any) {
	if b := bindingOf(object); r.mayHaveLost(b) {
		r.lost(subjectsOf(b))
	}
}

func (r *Rules) bindingAdded(object any) { r.subjectsAdded(bindingOf(object)) }

func (r *Rules) bindingDeleted(object any) { r.lost(subjectsOf(bindingOf(object))) }

func (r *Rules) bindingChanged(before, after any) {
	old, now := bindingOf(before), bindingOf(after)
	if old.role != now.role { // the binding was deleted and created again
		r.bindingDeleted(before)
		r.bindingAdded(after)
		return
	}
	if slices.Equal(old.subjects, now.subjects) {
		return // most updates change annotations or labels
	}
	removed, added := without(old.subjects, now.subjects), without(now.subjects, old.subjects)
	r.lost(subjectsOf(binding{namespace: old.namespace, subjects: removed}))
	r.subjectsAdded(binding{namespace: now.namespace, subjects: added, role: now.role, late: now.late})
}

// subjectsAdded reports new subjects of a binding.
func (r *Rules) subjectsAdded(b binding) {
	if r.mayHaveLost(b) {
		r.lost(subjectsOf(b))
	} else {
		r.gained(subjectsOf(b))
	}
}

// mayHaveLost reports whether the subjects of a binding that was just received may have lost permissions. If the
// binding was received late, and its role has lost rules, notified may not have known these subjects then. mayHaveLost
// also returns true if another Role of the binding's namespace has lost rules (shrunkKey).
func (r *Rules) mayHaveLost(b binding) bool {
	_, shrunk := r.shrunk.Get(shrunkKey(b.role))
	return shrunk && b.late
}

// trimBinding marks bindings that are received while their watch is not current. Handlers run later, when the watch may
// be current again. The informer calls trimBinding under the lock that HasSynced takes, so trimBinding must not call
// HasSynced.
func (r *Rules) trimBinding(object any) (any, error) {
	bindings := r.bindings
	if bindingOf(object).namespace == "" {
		bindings = r.clusterBindings
	}
	trimmed, err := trim(object)
	if accessor, failed := meta.Accessor(trimmed); failed == nil && !bindings.opened.last(settle) {
		accessor.SetAnnotations(r.late)
	}
	return trimmed, err
}

func (r *Rules) roleAdded(object any) { r.notified(r.rights.Gained, roleOf(object)) }

func (r *Rules) roleDeleted(object any) { r.roleShrunk(roleOf(object)) }

func (r *Rules) roleShrunk(of role) {
	r.shrunk.Add(shrunkKey(of.name), nil) // before the bindings are read, so that none is overlooked
	r.notified(r.rights.Lost, of)
}

func (r *Rules) roleChanged(before, after any) {
	of, earlier := roleOf(after), roleOf(before)
	if slices.EqualFunc(earlier.rules, of.rules, sameLists) {
		return // most updates change annotations or labels
	}
	old, now := ruleKeys(earlier.rules), ruleKeys(of.rules)
	switch {
	case len(without(old, now)) > 0:
		r.roleShrunk(of)
	case len(without(now, old)) > 0:
		r.notified(r.rights.Gained, of)
	}
}

func (r *Rules) gained(s subjects) {
	if len(s) > 0 {
		r.rights.Gained(s.affected())
	}
}

func (r *Rules) lost(s subjects) {
	if len(s) > 0 {
		r.rights.Lost(s.affected())
	}
}

// notified reports a change of a role for the subjects of its known bindings. If a binding is received later, its
// subjects are reported then (mayHaveLost). The alternative, to report all users, was rejected: while bindings cannot
// be watched, a user who may change one Role without bindings could delay the events of all users.
func (r *Rules) notified(report func(Affected), of role) {
	bound := subjects{}
	for _, bindings := range []*followed{r.bindings, r.clusterBindings} {
		objects, err := bindings.informer.GetIndexer().ByIndex(byRole, of.name)
		if err != nil { // cannot happen: the index exists
			report(Affected{"": allUsers})
			return
		}
		for _, object := range objects {
			bound.add(bindingOf(object))
		}
	}
	if len(bound) > 0 {
		report(bound.affected())
	}
}

// handler calls functions for changes. Objects of the initial list are not changes; listed is called for them.
type handler struct {
	listed         func(any) // may be nil
	added, deleted func(any)
	changed        func(before, after any)
}

// OnAdd implements toolscache.ResourceEventHandler.
func (h handler) OnAdd(object any, isInInitialList bool) {
	switch {
	case !isInInitialList:
		h.added(object)
	case h.listed != nil:
		h.listed(object)
	}
}

// OnUpdate implements toolscache.ResourceEventHandler.
func (h handler) OnUpdate(before, after any) { h.changed(before, after) }

// OnDelete implements toolscache.ResourceEventHandler. For a missed deletion it uses the last known object.
func (h handler) OnDelete(object any) {
	if missed, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	h.deleted(object)
}

func trim(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
		accessor.SetAnnotations(nil)
		accessor.SetLabels(nil)
	}
	return object, nil
}
