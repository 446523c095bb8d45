package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
)

// codecs encodes Status objects, and names the media types that kube-apiserver negotiates over: JSON, YAML, protobuf.
var codecs = newCodecs()

func newCodecs() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme)
}

// errMethod is what everything that is not a read gets (semantics 8.5).
var errMethod = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
	Message: "the server does not allow this method on the requested resource", Details: &metav1.StatusDetails{},
}}

// errUnauthenticated is the 401 of kube-apiserver (semantics 8.7).
var errUnauthenticated = apierrors.NewUnauthorized("Unauthorized")

// errImpersonation refuses what is asked in somebody else's name.
var errImpersonation = apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("listfacade does not impersonate: ask kube-apiserver"))

// errForeign refuses what a page of another site may have sent.
var errForeign = apierrors.NewForbidden(schema.GroupResource{}, "",
	errors.New("where callers are not authenticated, only requests to and from loopback names are answered"))

// What listfacade does not hold and cannot ask for in the caller's name, by what the caller can do about it.
var (
	errNotServed = notServed("cannot ask kube-apiserver for it in your name: use a bearer token, or ask kube-apiserver itself; " +
		"with --passthrough=impersonate listfacade can ask in the name of other callers")
	errNotImpersonated = notServed("cannot ask kube-apiserver for it in your name: use a bearer token, or ask kube-apiserver itself")
	errNothingPassed   = notServed("passes nothing on (--passthrough=off): ask kube-apiserver itself")
)

func notServed(why string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Message: "listfacade does not hold this, and " + why,
	}}
}

// errLoop is a request that comes back: nobody answers it.
var errLoop = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusLoopDetected,
	Message: "this request has come through this listfacade before, or through too many: the kube-apiserver of its kubeconfig is " +
		"the listfacade itself, or one that reads from it",
}}

// errLargeReview is a review with more bytes than any has.
var errLargeReview = apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", upstream.QuestionLimit))

// errNoRoute is a path below one of kube-apiserver's APIs that none of its routes has (semantics 8.4).
var errNoRoute = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
	Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{},
}}

// errURITooLong is a request whose first line alone is more than any client's.
var errURITooLong = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusRequestURITooLong, Reason: metav1.StatusReasonBadRequest,
	Message: fmt.Sprintf("the request's URL is longer than %d bytes", mostURL),
}}

// errNoPath is a path that nothing of kube-apiserver's wants, and errNoDocument one that its OpenAPI does not know:
// 404s without a Status (semantics 8.4).
var (
	errNoPath     = errors.New("no such path")
	errNoDocument = errors.New("no such document")
)

// errTimeUp is a request whose time was over before its first byte.
var errTimeUp = errors.New("the request's time is over")

// errStalled is an answer that had to end for another's sake, because its client took nothing of it.
var errStalled = errors.New("the client does not take the answer")

// errLeft refuses every request: the server has shut down, and waits for those that are under way.
var errLeft = errors.New("the server has shut down")

// errDraining refuses what would only begin to end: the server shuts down.
var errDraining = errors.New("the server is shutting down")

// errBusy stands for more requests than are passed through, or wait for that, at a time.
var errBusy = errors.New("too many requests at once")

// errUnfilled stands for why a lane is not filled; the cause's own words, with addresses in them, are for the log.
var errUnfilled = errors.New("the upstream cannot be read at the moment")

// invalidRVError is a resourceVersion that GET and WATCH cannot parse; kube-apiserver answers 500 without a reason
// (semantics 1.5).
type invalidRVError struct{ text string }

func (e *invalidRVError) Error() string { return e.text }

// invalidKeyError is a namespace that cannot be part of a key; kube-apiserver answers 500 without a reason (semantics
// 8.6).
type invalidKeyError struct{ key string }

func (e *invalidKeyError) Error() string { return fmt.Sprintf("invalid key: %q", e.key) }

// notReadyError is a lane that cannot answer yet (semantics 2.1), and after how long it may.
type notReadyError struct {
	cause error
	after time.Duration
}

func (e *notReadyError) Error() string {
	if e.cause == nil {
		return "storage is (re)initializing"
	}
	return "storage is (re)initializing: " + e.cause.Error()
}

// mostRetryAfter bounds what a client is told to wait, in seconds, as kube-apiserver does.
const mostRetryAfter = 30

// retryAfter is in whole seconds, rounded up, and at least one.
func retryAfter(d time.Duration) int { return max(1, min(int(math.Ceil(d.Seconds())), mostRetryAfter)) }

// forgottenError is a version that is too old for a watch which kube-apiserver has from etcd (semantics 4.1).
type forgottenError struct{ cause *cache.ExpiredError }

func (e *forgottenError) Error() string {
	return "The resourceVersion for the provided watch is too old."
}

// Unwrap returns the lane's error.
func (e *forgottenError) Unwrap() error { return e.cause }

// staleError is a lane that has not heard the upstream for longer than the operator allows.
type staleError struct{}

func (staleError) Error() string {
	return "the upstream kube-apiserver has not been heard for too long"
}

// statusOf renders an error: known types by this table, anything else as a bare 500 whose detail stays in the log.
func statusOf(err error) *metav1.Status {
	var (
		api      apierrors.APIStatus
		notReady *notReadyError
		tooLarge *cache.TooLargeError
		forgot   *forgottenError
		expired  *cache.ExpiredError
		invalid  *invalidRVError
		key      *invalidKeyError
		stale    staleError
		unasked  *auth.UnavailableError
		busy     *auth.BusyError
		unsaid   *auth.InvalidError
	)
	switch {
	case errors.Is(err, auth.ErrUnauthenticated):
		return statusOf(errUnauthenticated)
	case errors.Is(err, auth.ErrForeign):
		return statusOf(errForeign)
	case errors.As(err, &unasked):
		return unavailable("kube-apiserver cannot be asked who you are and what you may do")
	case errors.As(err, &busy):
		return withKind(&apierrors.NewTooManyRequests("too many requests of yours at once", retryAfter(busy.After)).ErrStatus)
	case errors.As(err, &unsaid):
		status := unsaid.Answer
		return withKind(&status)
	case errors.As(err, &api):
		status := api.Status()
		return withKind(&status)
	case errors.As(err, &notReady):
		return withKind(&apierrors.NewTooManyRequests(notReady.Error(), retryAfter(notReady.after)).ErrStatus)
	case errors.As(err, &tooLarge):
		return tooLargeStatus(tooLarge)
	case errors.As(err, &forgot):
		return withKind(&apierrors.NewResourceExpired(forgot.Error()).ErrStatus)
	case errors.As(err, &expired):
		return withKind(&apierrors.NewResourceExpired(expired.Error()).ErrStatus)
	case errors.As(err, &invalid):
		return plain500(invalid)
	case errors.As(err, &key):
		return plain500(key)
	case errors.As(err, &stale):
		return unavailable(stale.Error())
	case upstream.IsRefused(err):
		return unavailable("kube-apiserver does not let listfacade ask this on somebody's behalf")
	case upstream.IsUnreachable(err):
		return unavailable("the upstream kube-apiserver cannot be reached")
	case errors.Is(err, errDraining), errors.Is(err, reflector.ErrStopped), errors.Is(err, cache.ErrClosed):
		return unavailable("the server is shutting down")
	default:
		return withKind(&apierrors.NewInternalError(errors.New("the request could not be answered")).ErrStatus)
	}
}

// plain500 is an error that kube-apiserver has no reason for.
func plain500(err error) *metav1.Status {
	return withKind(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()})
}

// tooLargeStatus is the 504 that client-go recognises by its cause (semantics 2.2).
func tooLargeStatus(err *cache.TooLargeError) *metav1.Status {
	status := apierrors.NewTimeoutError(err.Error(), 1).ErrStatus
	status.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return withKind(&status)
}

func unavailable(message string) *metav1.Status {
	status := apierrors.NewServiceUnavailable(message).ErrStatus
	status.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return withKind(&status)
}

func withKind(status *metav1.Status) *metav1.Status {
	status.Kind, status.APIVersion = "Status", "v1"
	return status
}

// writeError answers a request with an error. Errors are negotiated anew without transformations: what only accepts a
// Table gets indented JSON (semantics 6.3).
func (o *reply) writeError(err error) {
	switch {
	case errors.Is(err, errTimeUp):
		writeDeadline(o.w)
		return
	case errors.Is(err, errNoPath):
		http.NotFound(o.w, o.r)
		return
	case errors.Is(err, errLeft):
		writeLeft(o.w)
		return
	case errors.Is(err, errNoDocument):
		o.w.WriteHeader(http.StatusNotFound)
		return
	}
	status := statusOf(err)
	o.event.Status = status
	if status.Code >= http.StatusInternalServerError && !isClients(err) {
		o.log.Info("request failed", zap.String("auditID", o.event.AuditID), zap.Error(err))
	}
	if errors.Is(err, errDraining) {
		o.header().Set("Connection", "close") // which asks HTTP/2 clients, too, to come back on another connection
	}
	var forbidden *forbiddenError
	if errors.As(err, &forbidden) {
		o.header().Set("X-Content-Type-Options", "nosniff")
	}
	writeStatus(o.w, o.r, status)
}

// writeStatus answers with a Status.
func writeStatus(w http.ResponseWriter, r *http.Request, status *metav1.Status) {
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	mediaType, body, err := encodeStatus(r, status)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(int(status.Code))
	_, _ = w.Write(body) // the client may be gone
}

// isClients tells the errors of 500 and above that are about what a client sent, and nothing that an operator can mend.
func isClients(err error) bool {
	var (
		invalid *invalidRVError
		key     *invalidKeyError
	)
	return errors.As(err, &invalid) || errors.As(err, &key) || isTooLarge(err) || isNotServed(err)
}

func isNotServed(err error) bool {
	return errors.Is(err, errNotServed) || errors.Is(err, errNotImpersonated) || errors.Is(err, errNothingPassed)
}

// negotiate finds the form of an answer that is no object of the cache.
func (o *reply) negotiate(codecs runtime.NegotiatedSerializer) (runtime.SerializerInfo, error) {
	_, info, err := negotiation.NegotiateOutputMediaType(o.r, codecs, negotiation.DefaultEndpointRestrictions)
	return info, err
}

// negotiateIn is negotiate for an answer that has kinds of its own.
func (o *reply) negotiateIn(codecs runtime.NegotiatedSerializer, kinds negotiation.EndpointRestrictions) (negotiation.MediaTypeOptions, runtime.SerializerInfo, error) {
	return negotiation.NegotiateOutputMediaType(o.r, codecs, kinds)
}

func encodeStatus(r *http.Request, status *metav1.Status) (mediaType string, body []byte, err error) {
	_, info, err := negotiation.NegotiateOutputMediaType(r, codecs, negotiation.DefaultEndpointRestrictions)
	if err != nil {
		body, err = json.MarshalIndent(status, "", "  ")
		return "application/json", body, err
	}
	body, err = runtime.Encode(codecs.EncoderForVersion(info.Serializer, schema.GroupVersion{Version: "v1"}), status)
	return info.MediaType, body, err
}

// writeDeadline is the answer to a request that ran out of time before its first byte; its content type is what
// net/http sniffs from kube-apiserver's bytes (semantics 1.1).
func writeDeadline(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusGatewayTimeout)
	_, _ = fmt.Fprintln(w, `{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout",`+
		`"reason":"Timeout","details":{},"code":504}`)
}

// notFound is the 404 of an object; kind is the resource name of the request (semantics 3).
func notFound(resource schema.GroupResource, name string) error {
	return apierrors.NewNotFound(resource, name)
}

// notSupported is the 405 of a custom resource.
func notSupported(resource schema.GroupResource, verb string) error {
	return apierrors.NewMethodNotSupported(resource, verb)
}

// invalidName is the 400 of a name that no object can have.
func invalidName(name string) error {
	return badRequest(fmt.Sprintf("Name parameter invalid: %q: %s", name, strings.Join(content.IsPathSegmentName(name), ";")))
}

// noMarkup keeps what a client sent from reading as HTML in the answer, as kube-apiserver does.
var noMarkup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// forbidden is the 403 of kube-apiserver's authorization, with the authorizers' reason (semantics 8.7).
func forbidden(a auth.Attributes, reason string) error {
	why := noMarkup.Replace(forbiddenMessage(a))
	if reason != "" {
		why += ": " + reason
	}
	return &forbiddenError{apierrors.NewForbidden(schema.GroupResource{Group: a.Group, Resource: a.Resource}, a.Name, errors.New(why))}
}

// forbiddenError is told from other 403s by a header.
type forbiddenError struct{ *apierrors.StatusError }

func forbiddenMessage(a auth.Attributes) string {
	if a.Path != "" {
		return fmt.Sprintf("User %q cannot %s path %q", a.Caller.Name(), a.Verb, a.Path)
	}
	resource, where := a.Resource, "at the cluster scope"
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	if a.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", a.Namespace)
	}
	return fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", a.Caller.Name(), a.Verb, resource, a.Group, where)
}

func badRequest(message string) error { return apierrors.NewBadRequest(message) }
