// Package limit decides whether work may start now, must wait, or is refused. Its limits bound the load that clients
// can cause on the facade and on the upstream.
//
// Work is counted by Key. A key is one client. A group is a set of keys that one user can create, such as the service
// accounts of a namespace. The package promises:
//   - Seats never gives one key, one group or all groups together more seats than its Bounds allow. When seats are
//     short, groups take turns, and so do the keys of a group. More requests or keys do not give a group more turns.
//   - When too many requests wait for seats, a request of the group with the most waiting requests is refused.
//   - Requests of one key and rank are served in order. A context bounds the wait, and Bounds limits the queue.
//   - ConcurrencyLimit never admits more concurrent requests than its bounds allow.
//   - Streams never admits more long-running streams than its bounds allow. A group with no stream can open one while
//     another group has two. The exception is a group whose streams displaced others and then ended: these streams
//     still count, and one of them stops counting every second (debts.go).
//   - Stalls never admits more responses to slow readers than its bounds allow. It never ends a response whose client
//     has read something in the last second.
//   - Adaptive bounds concurrent work at a server by how fast the server answers. Keys take turns as in Seats. A group
//     gets at most half of the seats for work of one rank.
//   - Rates bounds how often each key starts work. Paces bounds this for each key and each group, and lets excess work
//     wait. Pace bounds how often work starts for all keys together, and keys take turns.
//   - A key that has no work, waiting requests, debts or partly used bucket uses no memory after the next cleanup.
//     Otherwise clients could use any amount of memory, because they can create any number of keys.
//
// The package starts no goroutines. Pace, Paces and Adaptive start timers that return seats.
package limit
