// Package accounting ranks the clients of a facade by the cost of their requests. Its memory is bounded, whatever
// clients send.
//
// A Key describes a kind of request: user, user agent, verb, resource, scope, shape of the selectors, resourceVersion
// mode and source of the response. For each of five kinds of cost (By) and each minute, a summary keeps the 256 most
// expensive keys. Its algorithm is weighted Space-Saving (Metwally, Agrawal, El Abbadi 2005). The summaries of the last
// sixteen minutes are in a ring.
//
// The package promises:
//   - For each listed key, estimate - error <= true cost <= estimate, over one minute and over several. The cost of a
//     key that is not listed is at most Ranking.Unlisted.
//   - Counting a request takes less than a microsecond, and allocates no memory if its key occurred in the same minute.
//   - In each minute, the first 64 combinations of user agent, selectors and unknown resource of a user are separate
//     keys. All later combinations share one key per user. The cost of a client that sends random texts is therefore
//     visible with its user.
//   - Requests in flight are counted before they end: every ten seconds, and for each Ranking.
//
// Clients is an observe.Observer. The package starts no goroutine: Run blocks, and counts requests in flight until its
// context ends. One mutex guards the summaries.
package accounting
