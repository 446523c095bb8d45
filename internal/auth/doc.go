// Package auth authenticates callers and authorizes their reads before a request reaches the cache. The upstream
// kube-apiserver decides both.
//
// Authenticator identifies the caller. It promises:
//   - A credential is accepted only if a TokenReview of the upstream, or the certificate verification of
//     kube-apiserver's libraries, accepts it. A bound service account token is also accepted if a published key signed
//     it and current watches show its objects (docs/adr/0034-bound-tokens-are-verified.md). Only a TokenReview refuses
//     a token, unless it is too long or not UTF-8.
//   - A request with an invalid credential never becomes anonymous. It is refused, unless another of its credentials is
//     valid.
//   - If the upstream cannot review a credential, the error is UnavailableError, not a refusal.
//   - Tokens are not stored, and appear in no error and no log message.
//   - Tokens that fail cost the upstream at most as many reviews as FailureLimits allow. Tokens that were valid in the
//     last minutes are exempt. Failing sources do not delay the first review of other sources
//     (docs/adr/0030-failed-logins.md).
//
// Authorizers decide whether a read is allowed. They promise:
//   - A Decision exists only after the upstream's authorizer allowed exactly its attributes. For a list or watch, the
//     same attributes without selectors and name are enough. Exceptions are requests that the configuration allows,
//     forwarded requests, which the upstream authorizes, and non-resource paths in Self.
//   - A later refusal overrides an earlier permission.
//   - A Decision is at most as old as the cache's time to live. It may be older only while reviews fail or are slow.
//   - An unavailable upstream never turns a refusal into a permission.
//   - Concurrent requests with the same question share one review.
//   - Tokens of a service account share decisions only as ExtrasMode says. When sharing ends, no shared decision is
//     used any more (docs/adr/0036-shared-decisions.md).
//
// There are two authorizers. Reviews sends SubjectAccessReviews with the caller's name, UID, groups and extra. Self is
// for one person on loopback, where every caller acts as the kubeconfig user; it sends SelfSubjectAccessReviews.
//
// Reviews also promises:
//   - A caller that always sends new questions causes a bounded rate of reviews, and has at most a twentieth of the
//     cached decisions. Its further questions are queued. Callers of other groups do not wait for them.
//   - After a change of permissions (Lost, Gained), the decisions of the affected users are dropped, in the affected
//     namespaces only. The answer to an earlier review is cached only if the change cannot affect it.
//   - Every WatchAuthorization is reviewed periodically, unless it needs no review. It ends when its permission ends.
//   - After Lost, Check delays events until the upstream has confirmed the permission: for at most Hold during an
//     outage, and otherwise for at most maxPendingWait. Further changes do not extend this wait.
//   - A WatchAuthorization also ends when its credential or its user becomes invalid, or after a long outage.
//   - After a change, reviews for watches precede reviews of requests. Periodic reviews come last. A review that the
//     facade did not send does not count as an outage.
//
// Seats bounds the reviews that a kube-apiserver answers at a time, by how fast it answers
// (docs/adr/0035-concurrent-reviews.md).
//
// Goroutines: Authenticator.Run has up to three. They reload CA bundles (Trust), probe how the upstream treats
// anonymous requests, and read the keys of service account tokens. Reviews.Run schedules reviews for watches, and has
// one goroutine for each of these reviews. With DetectExtras, it has one more, which checks the upstream's authorizers.
// All these goroutines end before Run returns. Constructors start no goroutines. A review that callers share has a
// goroutine until it ends, also while it waits for a seat. A question of a caller above its rate has a goroutine, too.
// Timers return the seats of refused and failed reviews.
package auth
