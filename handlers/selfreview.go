package handlers

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/upstream"
)

// A review is a POST that writes nothing. kubectl auth whoami and kubectl auth can-i send reviews about their own user.
// Servers that delegate authentication, such as another facade, send reviews about other users.
//
// If possible, a review is forwarded with the caller's credentials. A client certificate and a front proxy's headers
// cannot be forwarded. For such a caller, the facade itself answers reviews about the caller, because it has
// authenticated the caller and may review permissions.

// SelfReviewer reviews a caller's own permissions.
type SelfReviewer interface {
	Review(ctx context.Context, c *auth.Caller,
		spec authorizationv1.SelfSubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error)
}

const (
	whoAmI = "selfsubjectreviews"
	canI   = "selfsubjectaccessreviews"
)

// isReview reports whether a request is a review, about the caller or about others.
func isReview(q *Request) bool {
	return q.method == http.MethodPost && upstream.IsQuestion(q.url.Path)
}

func (q *Request) readReview(from io.Reader) error {
	body, err := io.ReadAll(io.LimitReader(from, upstream.QuestionLimit+1))
	if err != nil {
		return badRequest("the review's body cannot be read")
	}
	if len(body) > upstream.QuestionLimit {
		return errLargeReview
	}
	q.body = body
	return nil
}

// answersReview reports whether the facade itself answers a review.
func answersReview(q *Request) bool {
	byName := q.Caller.Way == auth.ByCertificate || q.Caller.Way == auth.ByFrontProxy
	return byName && isReview(q) && q.info.APIVersion == "v1" && (q.info.Resource == whoAmI || q.info.Resource == canI)
}

var reviewCodecs = newReviewCodecs()

func newReviewCodecs() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{authenticationv1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // impossible, because only the tables in the libraries can cause an error
		}
	}
	return serializer.NewCodecFactory(scheme)
}

func (s *Server) review(ctx context.Context, out *reply, q *Request) error {
	info, err := out.negotiate(reviewCodecs)
	if err != nil {
		return err
	}
	answer, err := s.completeReview(ctx, q)
	if err != nil {
		return err
	}
	version := schema.GroupVersion{Group: q.info.APIGroup, Version: q.info.APIVersion}
	body, err := runtime.Encode(reviewCodecs.EncoderForVersion(info.Serializer, version), answer)
	if err != nil {
		return err
	}
	out.header().Set("Content-Type", info.MediaType)
	out.w.WriteHeader(http.StatusCreated)
	_, err = out.pieces().Write(body)
	return err
}

func (s *Server) completeReview(ctx context.Context, q *Request) (runtime.Object, error) {
	object, kind, err := reviewCodecs.UniversalDeserializer().Decode(q.body, nil, nil)
	if err != nil {
		return nil, badRequest("the review cannot be decoded: " + err.Error())
	}
	if kind.Group != q.info.APIGroup || strings.ToLower(kind.Kind)+"s" != q.info.Resource {
		return nil, badRequest("the review's kind does not match the path")
	}
	switch review := object.(type) {
	case *authenticationv1.SelfSubjectReview:
		review.CreationTimestamp = metav1.NewTime(time.Now())
		review.Status.UserInfo = userInfo(q.Caller)
		return review, nil
	case *authorizationv1.SelfSubjectAccessReview:
		if (review.Spec.ResourceAttributes == nil) == (review.Spec.NonResourceAttributes == nil) {
			return nil, badRequest("the review must specify either resourceAttributes or nonResourceAttributes")
		}
		review.Status, err = s.selfReviewer.Review(ctx, q.Caller, review.Spec)
		return review, err
	default:
		return nil, badRequest("the review's version does not match the path")
	}
}

func userInfo(c *auth.Caller) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: c.Info.GetName(), UID: c.Info.GetUID(), Groups: c.Info.GetGroups()}
	for name, values := range c.Info.GetExtra() {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[name] = values
	}
	return info
}
