// Package auth answers who asks, and whether a read is allowed, before anything of the cache is looked at.
//
// Of who asks it promises that an Authenticator takes nobody's word but that of the upstream's TokenReview, or of a
// certificate that kube-apiserver's own libraries verify; that a bad credential is refused and none is anonymous, if
// the upstream has anonymous users; that an upstream that cannot be asked refuses nobody (UnavailableError); that
// tokens are neither kept nor in an error or a log; and that tokens that prove nobody cost the upstream no more reviews
// than FailureLimits allow, while whoever is known passes.
//
// Of what is allowed it promises that a Grant exists only after the upstream's own authorizer said yes to exactly the
// attributes that the Grant carries, and has said nothing else since; that it was asked at most the cache's time to
// live ago, or is asked now and does not answer; that what it never allowed is not granted for lack of an answer; and
// that many callers who ask the same question at the same time cost the upstream one review.
//
// At this stage the facade does not authenticate: every caller acts as the user of the facade's own kubeconfig, which
// is why the server listens on loopback only; the question is therefore a SelfSubjectAccessReview.
//
// Authenticator.Run owns two goroutines: one reads what is trusted again (Trust), one asks how the upstream treats the
// anonymous; both end before it returns. Constructors start nothing. Otherwise the package starts no goroutine but for
// a review that callers share, which ends with its answer or after five seconds. It writes no response and imports
// nothing else of this module.
package auth
