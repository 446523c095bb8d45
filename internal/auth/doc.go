// Package auth answers whether a read is allowed, before anything of the cache is looked at.
//
// It promises that a Grant exists only after the upstream's own authorizer said yes to exactly the attributes that the
// Grant carries, and has said nothing else since; that it was asked at most the cache's time to live ago, or is asked
// now and does not answer; that what it never allowed is not granted for lack of an answer; and that many callers who
// ask the same question at the same time cost the upstream one review.
//
// At this stage every caller acts as the user of the facade's own kubeconfig, which is why the server listens on
// loopback only; the question is therefore a SelfSubjectAccessReview.
//
// The package starts no goroutine but for a review that callers share, which ends with its answer, writes no response
// and imports nothing else of this module.
package auth
