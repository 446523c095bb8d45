// Package accounting says who reads what at what cost, in bounded memory whatever clients send.
//
// A Key says who asks for what: user, user agent, verb, resource, scope, shape of the selectors, resourceVersion mode,
// and who answered. For each of five kinds of cost (By) and each minute, a summary keeps the 256 keys that took most,
// by the weighted Space-Saving algorithm (Metwally, Agrawal, El Abbadi 2005). A minute is part of a ring of sixteen.
//
// It promises:
//   - an estimate less its error <= what it truly was <= the estimate, for each key that is listed, over one minute and
//     over several; a key that is not listed took no more than Ranking.Unlisted;
//   - a request costs less than a microsecond, and no memory where its key was seen in the same minute;
//   - a user's 64 user agents, selectors and unknown resources of a minute are told apart, and all that come after them
//     are counted as one, so that who sends random ones is found under that;
//   - what is under way is counted while it is: of long answers and of watches, every ten seconds and whenever somebody
//     asks.
//
// The package is one sink of observe.Event among others. It owns no goroutine; Run counts what is under way until its
// context ends. One mutex guards the summaries.
package accounting
