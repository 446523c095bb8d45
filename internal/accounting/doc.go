// Package accounting ranks the clients of a facade by the cost of their requests. Its memory is bounded, whatever
// clients send.
//
// A Key describes a kind of request: user, user agent, verb, resource, scope, shape of the selectors, resourceVersion
// mode and source of the response. For each of five kinds of cost (By) and each minute, a summary keeps 256 keys. These
// include each key with more than 1/256 of the cost. The algorithm is weighted Space-Saving (Metwally, Agrawal, El
// Abbadi 2005). The summaries of the last sixteen minutes are in a ring.
//
// The package promises:
//   - For each key in the summaries, estimate - error <= true cost <= estimate, over one minute and over several. The
//     cost of any other key is at most Ranking.Unlisted.
//   - Counting a request takes less than a microsecond. It allocates no memory if the minute's summaries have the key.
//   - In each minute, about 64 combinations of user agent, selectors and unknown resource of a user are separate keys.
//     In later keys of the user, Others replaces these texts. So a user who sends random texts stays visible.
//   - Requests in flight are counted before they end: every ten seconds, and for each Ranking.
//
// Clients is an observe.Observer. The package starts no goroutine: Run blocks, and counts requests in flight until its
// context ends. One mutex guards the summaries.
package accounting
