// Package replay serves a cluster as a journal recorded it (internal/journal): the command "listfacade replay".
//
// It is a facade without a kube-apiserver, with the same handlers, cache and encodings. Each lane is a cache.Lane that
// is filled from the journal up to a moment, and then receives the recorded events:
//
//	track      the records of one lane as steps: lists, events, progress
//	lane       the cache of one resource, as a request reads it; implements handlers.Lane
//	player     applies the steps of all lanes in the order of their resourceVersions, at the speed of the clock
//	recorded   takes the place of kube-apiserver for documents, reviews and refusals
//
// The package promises:
//
//   - All lanes have the same resourceVersion: the highest one that any lane had at the replayed time. A read sees all
//     events of a version or none.
//   - If the journal lacks a lane at this version, the lane stays at its last earlier version until the journal has the
//     lane again. Until then, each response from the lane has a Warning header.
//   - Ages in Tables are relative to the time that is replayed.
//   - Objects and documents come from the journal only. Reviews of the caller's own permissions allow every read. Other
//     requests are refused.
//   - The replay serves no damaged record. After the first damaged record of a lane, it treats the lane as not
//     recorded.
//   - The replay only reads the journal, without a lock. If a process writes to the journal meanwhile, the replay may
//     lack new records.
//   - The replay listens only on loopback addresses, and answers only requests to loopback names, because callers are
//     not authenticated. While the replay runs, every local user can read all recorded objects.
//   - A resource recorded only in protobuf is also served in JSON without Tables, if internal/transcode can convert the
//     resource.
//
// Goroutines: Open loads lanes in goroutines and waits for them. Serve owns goroutines for the server, its shutdown,
// the player, and the recorded upstream, which serves on a network in memory.
package replay
