// Package rbac watches the RBAC objects and service accounts of the upstream, and pods if asked to. It reports which
// users' permissions may have changed, and which service accounts and pods no longer exist. It makes no authorization
// decisions. Only the upstream's authorizer makes them, because it has more sources than these objects. The package
// reports when a decision must be reviewed.
//
// The package promises:
//   - Every change of a role or binding that may remove a permission is reported with Rights.Lost, for all affected
//     users, groups and service accounts. This includes changes that only a later list shows.
//   - Changes that can only add permissions are reported with Rights.Gained. Changes without an effect on permissions
//     are not reported.
//   - Exists returns false only for identities that are known not to exist. While service accounts cannot be read,
//     Exists returns true for all of them.
//   - While Objects is Current, Find returns what the upstream has, apart from the delay of the network.
//
// If the facade is not allowed to read these objects, Failure returns the error, and no changes are reported.
//
// Each Run starts the goroutines of its informers, and returns when they have ended.
package rbac
