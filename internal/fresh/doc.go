// Package fresh checks that a lane is fresh: that its State includes every write that finished before a request
// arrived. The upstream's watch alone cannot show this, because it does not say when it has sent everything (semantics
// 10.5, docs/adr/0005-freshness-checks.md, docs/adr/0008-cheapest-freshness-check.md).
//
// There are three freshness checks:
//
//   - A probe reads the upstream's current resourceVersion by the cheapest consistent list. A lane that changes often
//     reaches that version a moment later. Another lane is complete if all versions between the lane's own and the
//     current one are changes of other resources (account.go, subscription.go). Resources in one etcd share one version
//     counter, so one probe serves all their lanes (store.go). The package compares versions to find out whether
//     resources share an etcd (membership.go).
//   - A roll call is one list of the names and versions of all objects of a small resource. If they match the lane's
//     objects, the lane is complete up to the version of the list (rollcall.go).
//   - A progress watch is a second, short watch from the lane's version. It delivers the missing events and ends with a
//     bookmark, which shows that no earlier event is missing (progress_watch.go). If the upstream is a facade, that
//     facade first updates its own lane by a progress watch (Checker.Advance).
//
// Every check of a custom resource ends with a request for its definition. Versions do not show how objects are
// represented (definition.go, docs/adr/0032-changed-definitions.md).
//
// The package promises:
//
//   - Each probe, roll call and request for a definition is sent after all readers that share its response began to
//     wait (groupcommit.go).
//   - A probe or a roll call precedes a forwarded read that costs the upstream more than ten probes. The exception is a
//     lane that is contradicted, or cannot be checked at the moment (demand.go, docs/adr/0033-costly-reads.md).
//   - Recent makes a check only if the check costs the upstream less than the answers that it can save, by the
//     package's estimate (choice.go, answer.go).
//   - If the upstream throttles a probe, the store sends no further probe for 1 to 30 seconds, as the response demands.
//     The exception is a store whose probes rotate among its resources (store.go).
//   - No request waits only to collect more readers. Few requests are in flight at a time, and new readers share the
//     next one (question_seats.go).
//   - If no check succeeds, the result is an error, usually ErrUnproven.
//   - A lane that a check or its writer finds to be wrong is confirmed by no check until it is listed again. The result
//     of a check is about the list that the lane had when the check began, not about a later one (trust.go). Costly
//     reads of a contradicted lane have the limit of other forwarded costly reads (Checker.Forwards). The callers of
//     this package forward small pages and reads at an exact version without this limit.
//
// Requests run in goroutines that Filler.Start and the start functions of Checkers create and own. A goroutine of a
// progress watch ends before the goroutine that started it.
//
// The package itself sends no request and changes no object of a lane (source.go).
package fresh
