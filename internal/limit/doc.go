// Package limit decides whether work may start now, must wait, or is refused. Its limits bound the load that clients
// can cause on the facade and on the upstream.
//
// Work is counted by Key. A key is one client. A group is a set of keys that one user can create, such as the service
// accounts of a namespace. The package promises:
//   - Seats never gives one key, one group or all groups together more seats than its Bounds allow. When seats are
//     short, groups take turns, and so do the keys of a group. A waiting request is delayed by at most one turn of each
//     other group.
//   - When too many requests wait for seats, the last request of the longest queue is refused.
//   - Requests of one key are served in order. Callers bound the wait with a context, and Bounds limits the queue.
//   - ConcurrencyLimit never admits more concurrent requests than its bounds allow.
//   - Streams never admits more long-running streams than its bounds allow. A group with no stream can always open one
//     while another group has two. The exception is a group whose streams displaced others and then ended: these
//     streams still count, and one of them stops counting every second (debts.go).
//   - Stalls never admits more responses to slow readers than its bounds allow. A response whose client still reads is
//     never ended.
//   - Adaptive bounds concurrent work at a server by how fast the server answers. Keys take turns as in Seats, and
//     no group has more than half of the seats.
//   - Rates bounds how often each key starts work. Paces does the same, but further work waits, and groups have a rate,
//     too. Pace bounds how often work starts for all keys together, and keys take turns.
//   - A key uses memory only while it has work, waiting requests, debts or a bucket that is not full. Otherwise clients
//     could use any amount of memory, because they can create any number of keys.
//
// The package starts no goroutines. Pace, Paces and Adaptive start timers that return seats. It does not read requests
// or write responses.
package limit
