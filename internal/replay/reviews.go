package replay

import (
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/listfacade/listfacade/internal/upstream"
)

// everything is an auth.Upstream that allows everything. The handlers refuse writes.
type everything struct{}

// Post implements auth.Upstream.
func (everything) Post(context.Context, string, []byte) (code int, body []byte, err error) {
	return http.StatusCreated, []byte(`{"kind":"SelfSubjectAccessReview","status":{"allowed":true}}`), nil
}

// Silent implements auth.Upstream.
func (everything) Silent() time.Duration { return 0 }

var readVerbs = []string{"get", "list", "watch"}

const caller = "listfacade-replay"

func reviewCodecs() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{authenticationv1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic("BUG: " + err.Error()) // only contradictory types in the libraries can cause this
		}
	}
	return serializer.NewCodecFactory(scheme)
}

// review answers a review of the caller's own permissions or name, as kubectl auth and interactive clients send it. The
// answer allows every read.
func (u *recorded) review(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, upstream.QuestionLimit))
	if err != nil {
		refuse(w, r, apierrors.NewBadRequest("the review's body cannot be read").ErrStatus)
		return
	}
	object, kind, err := u.reviews.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		refuse(w, r, apierrors.NewBadRequest("the review cannot be decoded: "+err.Error()).ErrStatus)
		return
	}
	if !decide(object) {
		refuse(w, r, absent("the permissions of other users"))
		return
	}
	_, info, err := negotiation.NegotiateOutputMediaType(r, u.reviews, negotiation.DefaultEndpointRestrictions)
	if err != nil {
		refuse(w, r, absent("this media type"))
		return
	}
	answer, err := runtime.Encode(u.reviews.EncoderForVersion(info.Serializer, kind.GroupVersion()), object)
	if err != nil {
		refuse(w, r, apierrors.NewInternalError(err).ErrStatus)
		return
	}
	w.Header().Set("Content-Type", info.MediaType)
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(answer)
}

// decide sets the status of a review. It returns false for a review about other users.
func decide(object runtime.Object) bool {
	switch review := object.(type) {
	case *authenticationv1.SelfSubjectReview:
		review.Status.UserInfo.Username = caller
	case *authorizationv1.SelfSubjectAccessReview:
		review.Status = authorizationv1.SubjectAccessReviewStatus{
			Allowed: isRead(&review.Spec), Reason: "a replay allows every read",
		}
	case *authorizationv1.SelfSubjectRulesReview:
		review.Status = authorizationv1.SubjectRulesReviewStatus{
			ResourceRules: []authorizationv1.ResourceRule{
				{Verbs: readVerbs, APIGroups: []string{"*"}, Resources: []string{"*"}},
			},
			NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"*"}}},
		}
	default:
		return false
	}
	return true
}

func isRead(spec *authorizationv1.SelfSubjectAccessReviewSpec) bool {
	switch {
	case spec.ResourceAttributes != nil:
		return slices.Contains(readVerbs, spec.ResourceAttributes.Verb)
	case spec.NonResourceAttributes != nil:
		return spec.NonResourceAttributes.Verb == "get"
	}
	return false
}
