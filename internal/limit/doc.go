// Package limit says whether work may begin now, later or not at all: a storm ends here, and not at the upstream.
//
// It promises:
//   - never more seats are taken than its Bounds allow, of one key and of all keys together;
//   - when seats are short, groups of keys take turns, and in a group its keys: a storm of one group holds up another's
//     work by one turn of its own;
//   - when too many wait, who comes last of those who wait most is refused;
//   - of answers that clients do not take, Stalls, there are no more than their bounds allow, and one that goes on ends
//     for nobody;
//   - whoever waits is served in order within a key, for a bounded time and in a bounded queue;
//   - of those who are there for one thing, a ConcurrencyLimit, there are no more than its bounds allow;
//   - of Streams, which last for minutes, there are no more than their bounds allow, and no group of keys is without a
//     place while another has two;
//   - of what begins, by its Rates, no more of a key than they allow; by its Pace, no more of all keys, in turns;
//   - keys are what clients are, and may be any number: one is remembered only while something of it counts.
//
// It starts no goroutine, knows no request and writes no answer.
package limit
