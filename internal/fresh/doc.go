// Package fresh checks that a lane is fresh: that its State includes every write that finished before a request
// arrived. The upstream's watch alone cannot show this, because it does not say when it has sent everything (semantics
// 10.5, docs/adr/0005-three-shared-proofs.md, docs/adr/0008-proofs-are-chosen-by-price.md).
//
// There are three freshness checks:
//
//   - A probe reads the upstream's current resourceVersion by the cheapest consistent list. A lane that changes often
//     reaches that version a moment later. Any other lane is complete if all versions after the lane's own, up to the
//     current one, are changes of other resources. The lanes of those resources, or subscriptions to them, show this
//     (account.go, subscription.go). Resources in one etcd share one version counter, so one probe serves all their
//     lanes (store.go). The package compares versions to find out whether resources share an etcd, and never assumes
//     that they do (membership.go).
//   - A roll call is one list of the names and versions of all objects of a small resource. If they match the lane's
//     objects, the lane is complete up to the version of the list (rollcall.go).
//   - A progress watch is a second, short watch from the lane's version. It delivers the missing events and ends with a
//     bookmark, which shows that nothing before it is missing (progress_watch.go). If the upstream is a facade, that
//     facade first updates its own lane by a progress watch (Checker.Advance).
//
// Every check of a custom resource ends with a request for its definition. Versions do not show how objects are
// represented (definition.go, docs/adr/0032-definitions-are-confirmed.md).
//
// The package promises:
//
//   - Each request to the upstream is sent after all readers that share its response began to wait (groupcommit.go).
//   - A probe precedes each forwarded read that costs the upstream more than ten probes. If the probe does not confirm
//     the lane, the lane is brought up to date for the next read (demand.go,
//     docs/adr/0033-versions-are-accounted-for.md).
//   - A check never costs the upstream more than the answers that it saves, as the package estimates their costs
//     (choice.go, answer.go).
//   - If the upstream throttles the probes of a store, no probe is sent before the time in its response. If the probes
//     of a store rotate among its resources, a throttled probe does not stop the others (throttle.go).
//   - No reader waits for a timer before its request is sent. Few requests are in flight at a time, and readers share
//     the next one (question_seats.go).
//   - If no check succeeds, the result is ErrUnproven, never a guess.
//
// Goroutines: requests and progress watches run in goroutines that Filler.Start and the start function of NewCheckers
// create. The implementations of these two functions own the goroutines. The package starts no others.
//
// The package itself sends no request and writes to no lane. It uses interfaces for that (source.go). A Checker's
// methods Changed, Synced, Interrupted and Replaced notify it of a lane's changes.
package fresh
