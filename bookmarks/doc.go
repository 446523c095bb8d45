// Package bookmarks decides when a watch sends its client a bookmark, and renders that bookmark.
//
// # When
//
// Each watch has a Schedule, which follows kube-apiserver's rules (semantics 4.3):
//
//   - In a streaming list, the initial-events-end bookmark is due immediately, and a plain bookmark one second later.
//   - Then one plain bookmark is due every interval. The default is 60 s.
//   - One plain bookmark is due two seconds before the watch's deadline. The client then resumes close to the current
//     resourceVersion. No further bookmark is scheduled.
//   - Plain bookmarks are due up to one second before these times, because they are sent at ticks, one per second.
//     In kube-apiserver, all watches have the same tick. Here, each connection has its own tick (Options.Phase).
//   - A plain bookmark is skipped if the client already has its resourceVersion, from the start of the watch
//     (Options.Floor) or from the initial-events-end bookmark.
//
// A Schedule never reads a clock: the caller waits until Next and passes the time to Take. The caller must also ensure
// that a bookmark at resourceVersion n follows every matching event up to n (I4 in cache/doc.go).
//
// # What
//
// A bookmark is an empty object of the watched kind that has a resourceVersion. The fields of an empty object depend on
// the kind's Go type. Learn therefore makes a Template from a bookmark of the upstream. The Template renders bookmarks
// at any resourceVersion.
//
// The package starts no goroutine and no timer, and takes no lock. From this module it imports only the JSON scanner.
package bookmarks
