// Package auth answers whether a read is allowed, before anything of the cache is looked at.
//
// It promises that a Grant exists only after the upstream's own authorizer said yes to exactly the attributes that the
// Grant carries, at most the cache's time to live ago; that no answer, an error and "no" are all "not granted"; and
// that many callers who ask the same question at the same time cost the upstream one review.
//
// At this stage every caller acts as the user of the facade's own kubeconfig, which is why the server listens on
// loopback only; the question is therefore a SelfSubjectAccessReview.
//
// The package starts no goroutine of its own, writes no response and imports nothing else of this module.
package auth
