// Package bookmarks decides when a watch sends its client a bookmark, and renders that bookmark.
//
// # When
//
// A Schedule is a value that belongs to one watch. It follows kube-apiserver's rules (semantics 4.3):
//
//   - After a start with initial events, it sends the initial-events-end bookmark immediately. It sends another
//     bookmark one second later if the resourceVersion has increased by then.
//   - It sends one bookmark every interval. The default is 60 s.
//   - It sends one bookmark two seconds before the watch's deadline, because the client then resumes close to the
//     current resourceVersion. A watch shorter than two seconds gets none.
//   - It sends no plain bookmark at or below the resourceVersion from which the watch started.
//
// A Schedule never reads a clock: the caller waits until Next and passes the time to Take. The caller must also ensure
// that a bookmark at resourceVersion n follows every matching event up to n (I4). Only the cache can determine this.
//
// # What
//
// A bookmark is an empty object of the watched kind that has a resourceVersion. The fields of an empty object depend on
// the kind's Go type. A Template is therefore learned from a bookmark of the upstream, and rendered for any
// resourceVersion.
//
// The package starts no goroutine and no timer, takes no lock, and writes nothing. It imports only the JSON scanner of
// this module. A Schedule is not safe for concurrent use. A Template is immutable and safe for concurrent use.
package bookmarks
