// Package limit says whether work may begin now, later or not at all: a storm ends here, and not at the upstream.
//
// It promises:
//   - never more seats are taken than its Bounds allow, of one key and of all keys together;
//   - when seats are short, keys take turns: a storm on one key holds up another's work by one turn of its own;
//   - whoever waits is served in order within a key, for a bounded time and in a bounded queue;
//   - of those who are there for one thing, a Crowd, there are no more than its bounds allow;
//   - of what begins, by its Rates, no more than they allow;
//   - keys are what clients are, and may be any number: one is remembered only while something of it counts.
//
// It starts no goroutine, knows no request and writes no answer.
package limit
