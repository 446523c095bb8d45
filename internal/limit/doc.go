// Package limit says whether work may begin now, later or not at all: a storm ends here, and not at the upstream.
//
// It promises:
//   - never more seats are taken than its Bounds allow, of one key and of all keys together;
//   - a storm on one key holds up another's work only by the bound over all;
//   - whoever waits is served in order, for a bounded time and in a bounded queue;
//   - of those who wait for one thing that comes to all at once, a Crowd, there are no more than its bounds allow.
//
// It starts no goroutine, knows no request and writes no answer.
package limit
