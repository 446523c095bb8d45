// Package fresh proves that a lane is fresh: that its State shows every write that finished before a request arrived,
// although the upstream's watch says nothing about when it will have told everything (semantics 10.5,
// docs/adr/0005-three-shared-proofs.md, docs/adr/0008-proofs-are-chosen-by-price.md).
//
// There are three proofs:
//
//   - A probe asks the upstream for its resourceVersion of now, by the cheapest consistent list. A lane that changes
//     often has reached that version a moment later; any other has missed nothing if all versions in between are of
//     other resources, as their lanes have heard, or ears where there is no lane (account.go, subscription.go).
//
// Resources of one
//
//	  etcd count together, so one probe serves all their lanes (store.go); which resources those are is compared, never
//	  assumed (membership.go).
//	- A roll call is one list of the names and versions of all objects of a small resource. If they are the lane's, the
//	  lane's content is that of the list's version, however long it heard nothing (rollcall.go).
//	- A fence is a second, short watch from where the lane is. It brings what the lane lacks, and ends with a bookmark,
//	  which proves that nothing is missing before it (progress_watch.go). Where the upstream is a facade, that has its
//
// own lane
//
//	fenced first (Checker.Advance).
//
// A proof of a custom resource ends with a question for its definition: versions say nothing of the form that objects
// are written in (definition.go, docs/adr/0032-definitions-are-confirmed.md).
//
// It promises:
//   - a proof is sent after everybody began to wait who takes it for one (groupcommit.go);
//   - a read that takes the upstream as much as ten probes is probed, and when that proves nothing, its lane is brought
//     forward for the next one (demand.go, docs/adr/0033-versions-are-accounted-for.md);
//   - a proof never takes the upstream more than the answers that it spares it, by an estimate (choice.go, answer.go);
//   - a store whose uncached resource, or only resource, the upstream throttles is not probed before the time that it
//     names (throttle.go);
//   - nobody waits for a clock: a few questions are under way at a time, and who waits for one shares it
//
// (question_seats.go);
//   - what cannot be proven is ErrUnproven, and never a guess.
//
// Goroutines: questions and fences run where Filler.Start, or the start that Checkers were made with, lets them run;
// who implements it owns them. Nothing else is started.
//
// The package sends no request and writes no lane: it declares what it needs of both (source.go), and is told what
// happens to a lane by its Checker's methods Changed, Synced, Interrupted and Replaced.
package fresh
