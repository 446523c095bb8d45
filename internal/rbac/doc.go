// Package rbac follows the upstream's objects that rights and identities hang on, and says whose rights may have
// changed and who is no more. It decides nothing: what somebody may do says the upstream's authorizer, which knows more
// than these objects. They only tell when it is worth to ask it again.
//
// It promises:
//   - every change of a role or a binding that may take a right away is told as Lost, of all users, groups and service
//     accounts that it may be taken from, also when the change was missed and only a list shows it;
//   - what can only give rights is told as Gained, and what changes nothing is not told;
//   - whoever is not known not to exist exists: as long as service accounts cannot be read, all of them do.
//
// Where the facade may not read these objects, Failure says so, and nothing is told.
//
// Each Run owns the goroutines of its informers, and returns when they have ended.
package rbac
