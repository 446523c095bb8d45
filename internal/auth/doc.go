// Package auth answers who asks, and whether a read is allowed, before anything of the cache is looked at.
//
// Of who asks it promises that an Authenticator takes nobody's word but that of the upstream's TokenReview, or of a
// certificate that kube-apiserver's own libraries verify; that a bad credential is refused and none is anonymous, if
// the upstream has anonymous users; that an upstream that cannot be asked refuses nobody (UnavailableError); that
// tokens are neither kept nor in an error or a log; and that tokens that prove nobody cost the upstream no more reviews
// than FailureLimits allow, while a token that is known, or was minutes ago, passes, and sources that fail delay no
// source that does not (docs/adr/0030-sources-of-failed-logins-take-turns.md).
//
// Of what is allowed it promises that a Decision exists only after the upstream's own authorizer said yes to exactly
// the attributes that the Decision carries, or, of a list or watch, to the same without its selectors and name, and has
// said nothing else since; that it was asked at most the cache's time to live ago, or is asked now and does not answer;
// that what it never allowed is not granted for lack of an answer; and that many callers who ask the same question at
// the same time cost the upstream one review.
//
// Two authorizers keep that promise. Reviews asks for each caller, in a SubjectAccessReview with all that is known of
// it. Self is for one person on loopback, where everybody acts as the user of the facade's own kubeconfig; its question
// is a SelfSubjectAccessReview.
//
// Of Reviews it promises as well:
//   - who asks for ever new things costs the upstream a bounded rate of reviews, pushes out no decision of others, and
//     is refused before others are when the rate is short;
//   - what is known of somebody is forgotten when their rights have changed (Lost, Gained), and an answer to what was
//     asked before that is not kept;
//   - a watch's WatchAuthorization ends with the right that it stands on: it is reviewed every now and then, whatever
//
// happens; from
//
//	  when a loss is told, no event passes its Check before the upstream has said that it may, unless that cannot be
//	  asked; and it ends with the credential, with the identity, and when the upstream has not said for too long;
//	- reviews on behalf of leases have rates of their own, however many leases there are, and wait for no question of a
//	  request; what the facade itself does not send is no sign of an upstream that does not answer.
//
// Authenticator.Run owns two goroutines: one reads what is trusted again (Trust), one asks how the upstream treats the
// anonymous; both end before it returns. Constructors start nothing. The goroutine that follows leases, and those of
// its reviews, are Reviews.Run's, and end with it. Besides these the package starts a goroutine only for a review that
// callers share, which waits for its turn and ends with its answer; a timer gives the seat of a failed review back. It
// writes no response.
package auth
