// Package rbac watches the RBAC objects and service accounts of the upstream, and optionally its pods. It reports which
// users' permissions may have changed, and which service accounts and pods no longer exist. It makes no authorization
// decision, because the upstream's authorizer has more sources than these objects. It only reports when a decision must
// be reviewed.
//
// The package promises:
//   - Every change of a role or binding that may remove a permission is reported with Rights.Lost, for all affected
//     users, groups and service accounts. This includes changes that only a later list shows. If a binding of a changed
//     role is received after the change, the change is reported for its subjects when the binding is received.
//   - A change affects only requests in the namespaces of the RoleBindings concerned, as in kube-apiserver's RBAC
//     authorizer. It affects all requests of the subjects of ClusterRoleBindings. Requests over all namespaces and
//     without a namespace depend on ClusterRoleBindings only. A user who may change the roles and bindings of one
//     namespace therefore causes no reviews of watches elsewhere.
//   - If the RoleBindings concerned have more than 1,000 subjects in a namespace, the change counts for all users of
//     this namespace. This bounds the time and memory that a change takes.
//   - Changes that only add bindings, subjects, roles or rules are reported with Rights.Gained. A changed rule counts
//     as removed and added, so it is reported with Rights.Lost. A binding that is received while its watch is not
//     current is reported with Rights.Lost in two cases: its role has lost rules, or its role is a Role and another
//     Role of the namespace has lost rules.
//   - While Objects.Current returns true, Find returns what the upstream has, apart from the delay of the network.
//   - A service account with a UID counts as deleted only if it was deleted, even while the watch is refused or hangs.
//
// If the facade is not allowed to read these objects, Failure returns the error, and no changes are reported. Service
// accounts then count as existing, except those with a UID whose deletion was noticed before.
//
// Each Run starts the goroutines of its informers, and returns when they have ended.
package rbac
