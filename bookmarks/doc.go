// Package bookmarks says when a watch owes its client a bookmark, and what that bookmark looks like.
//
// # When
//
// A Schedule is a value that one watch owns. It follows kube-apiserver's rules (semantics 4.3):
//
//   - after a start with initial events, one bookmark at once that says so (initial-events-end), and one more a second
//     later if the resourceVersion has moved by then;
//   - one every interval, 60 s unless the facade is told otherwise;
//   - one two seconds before the watch's deadline, so that a client resumes close to the present; a watch shorter than
//     that gets none;
//   - none that repeats or precedes the state the watch started from.
//
// A Schedule never looks at a clock: the caller waits until Next and passes the time in. That a bookmark at
// resourceVersion n follows every matching event up to n (I4) is the caller's duty too, because only the cache knows
// it.
//
// # What
//
// A bookmark is an empty object of the watched kind that has a resourceVersion. Which fields an empty object shows
// depends on the kind's Go type, so a Template is learned from a bookmark of the upstream's, and rendered for any
// resourceVersion.
//
// The package starts no goroutine and no timer, holds no lock, and writes nowhere. Of this module it imports the
// scanner of JSON and nothing else. A Schedule is not safe for concurrent use; a Template is immutable and is.
package bookmarks
