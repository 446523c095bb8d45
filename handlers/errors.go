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

// codecs encode Status objects. They contain the media types that kube-apiserver negotiates: JSON, YAML and protobuf.
var codecs = newCodecs()

func newCodecs() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme)
}

// errMethod is the 405 of all requests that allowsMethod refuses (semantics 8.5).
var errMethod = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
	Message: "the server does not allow this method on the requested resource", Details: &metav1.StatusDetails{},
}}

// errUnauthenticated is kube-apiserver's 401 (semantics 8.7).
var errUnauthenticated = apierrors.NewUnauthorized("Unauthorized")

var errImpersonation = apierrors.NewForbidden(schema.GroupResource{}, "",
	errors.New("listfacade does not support impersonation: send the request to kube-apiserver"))

// errForeign refuses requests that a page of another site may have sent (auth.IsLocal).
var errForeign = apierrors.NewForbidden(schema.GroupResource{}, "",
	errors.New("listfacade does not authenticate callers: the Host and the Origin of each request must be loopback names"))

// Errors for requests that are not cached and cannot be forwarded. Each message names an alternative for the caller.
var (
	errNotServed = notServed("cannot be forwarded with the caller's credentials: use a bearer token, or send it to kube-apiserver; " +
		"with --passthrough=impersonate listfacade also forwards requests of other callers")
	errNotImpersonated = notServed("cannot be forwarded with the caller's credentials: use a bearer token, or send it to kube-apiserver")
	errNothingPassed   = notServed("listfacade does not forward it (--passthrough=off): send it to kube-apiserver")
	errShardsNotServed = notServed("kube-apiserver ignores shardSelector: omit it, or enable the feature gate ShardedListAndWatch")
)

// Errors for requests for shards that the cache cannot answer. The facade does not forward such requests, because
// kube-apiserver ignores the selector and would answer with all objects.
var (
	errShardsExpired = apierrors.NewResourceExpired("this resourceVersion is not cached, and kube-apiserver ignores " +
		"shardSelector: list again without resourceVersion and continue")
	errShardsNotNow = &apierrors.StatusError{ErrStatus: *unavailable("shards cannot be served at the moment, and " +
		"kube-apiserver ignores shardSelector")}
)

func notServed(why string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Message: "this request is not cached, and " + why,
	}}
}

var errLoop = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusLoopDetected,
	Message: "this request has already passed through this listfacade, or through too many listfacades: check that " +
		"listfacade's kubeconfig and --upstream lead to kube-apiserver",
}}

var errLargeReview = apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", upstream.QuestionLimit))

// errNoRoute is the 404 of a path that is below one of kube-apiserver's APIs, but matches no route of that API
// (semantics 8.4).
var errNoRoute = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
	Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{},
}}

var errURITooLong = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusRequestURITooLong, Reason: metav1.StatusReasonBadRequest,
	Message: fmt.Sprintf("the request's URL is longer than %d bytes", maxURL),
}}

// errNoPath is the 404 of a path that kube-apiserver does not serve. errNoDocument is the 404 of an OpenAPI document
// that kube-apiserver does not have. Neither of the two responses is a Status (semantics 8.4).
var (
	errNoPath     = errors.New("no such path")
	errNoDocument = errors.New("no such document")
)

// errTimeUp means that the request's timeout ended before the first byte of the response.
var errTimeUp = errors.New("the request timed out")

// errStalled means that a stalled response was ended in favour of another request.
var errStalled = errors.New("the client does not read the response")

// errLeft refuses new requests in the last stage of the shutdown, except for health and metrics.
var errLeft = errors.New("the server has shut down")

// errDraining refuses requests that would end immediately, because the server shuts down.
var errDraining = errors.New("the server is shutting down")

// errBusy means that too many requests wait for a lane at the same time.
var errBusy = errors.New("too many concurrent requests")

// errUnfilled replaces the reason why a lane is not filled. The reason may contain addresses, so it is only logged.
var errUnfilled = errors.New("the upstream cannot be read at the moment")

// invalidRVError reports a resourceVersion that GET and WATCH cannot parse. kube-apiserver responds with a 500 without
// a reason (semantics 1.5).
type invalidRVError struct{ text string }

func (e *invalidRVError) Error() string { return e.text }

// invalidKeyError reports a namespace that cannot be part of a key. kube-apiserver responds with a 500 without a reason
// (semantics 8.6).
type invalidKeyError struct{ key string }

func (e *invalidKeyError) Error() string { return fmt.Sprintf("invalid key: %q", e.key) }

// notReadyError means that a lane cannot serve reads yet (semantics 2.1). after is the estimated time until it can.
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

// maxRetryAfter is the maximum Retry-After in seconds, as in kube-apiserver.
const maxRetryAfter = 30

func retryAfter(d time.Duration) int { return max(1, min(int(math.Ceil(d.Seconds())), maxRetryAfter)) }

// forgottenError is the error of a watch from a version that etcd no longer has, if kube-apiserver would read the watch
// from etcd (semantics 4.1).
type forgottenError struct{ cause *cache.ExpiredError }

func (e *forgottenError) Error() string {
	return "The resourceVersion for the provided watch is too old."
}

func (e *forgottenError) Unwrap() error { return e.cause }

// staleError means that the upstream has been silent for longer than the operator allows.
type staleError struct{}

func (staleError) Error() string {
	return "the cache has received nothing from the upstream kube-apiserver for too long"
}

// statusOf converts an error to a Status. An unknown error becomes a 500 with a fixed message, and its text is only
// logged.
func statusOf(err error) *metav1.Status {
	var (
		api        apierrors.APIStatus
		notReady   *notReadyError
		tooLarge   *cache.TooLargeError
		forgot     *forgottenError
		expired    *cache.ExpiredError
		invalid    *invalidRVError
		key        *invalidKeyError
		shards     *invalidShardsError
		stale      staleError
		unreviewed *auth.UnavailableError
		busy       *auth.BusyError
		undecided  *auth.InvalidError
	)
	switch {
	case errors.Is(err, auth.ErrUnauthenticated):
		return statusOf(errUnauthenticated)
	case errors.Is(err, auth.ErrNotLocal):
		return statusOf(errForeign)
	case errors.As(err, &unreviewed):
		return unavailable("authentication or authorization by kube-apiserver is unavailable")
	case errors.As(err, &busy):
		return withKind(&apierrors.NewTooManyRequests("too many requests, retry later", retryAfter(busy.After)).ErrStatus)
	case errors.As(err, &undecided):
		status := undecided.Answer
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
	case errors.As(err, &shards):
		return plain500(shards)
	case errors.As(err, &stale):
		return unavailable(stale.Error())
	case upstream.IsRefused(err):
		return unavailable("kube-apiserver does not allow listfacade to make this request on behalf of a caller")
	case upstream.IsUnreachable(err):
		return unavailable("the upstream kube-apiserver cannot be reached, or its response cannot be used")
	case errors.Is(err, errDraining), errors.Is(err, reflector.ErrStopped), errors.Is(err, cache.ErrClosed):
		return unavailable("the server or its cache of the resource is stopping")
	default:
		return withKind(&apierrors.NewInternalError(errors.New("the request could not be answered")).ErrStatus)
	}
}

func plain500(err error) *metav1.Status {
	return withKind(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: err.Error()})
}

// tooLargeStatus returns the 504 that client-go recognizes by its cause (semantics 2.2).
func tooLargeStatus(err *cache.TooLargeError) *metav1.Status {
	status := apierrors.NewTimeoutError(err.Error(), 1).ErrStatus
	status.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version"}}
	return withKind(&status)
}

// waitSeconds is the Retry-After, in seconds, of a temporary failure.
const waitSeconds = 1

func unavailable(message string) *metav1.Status {
	status := apierrors.NewServiceUnavailable(message).ErrStatus
	status.Details = &metav1.StatusDetails{RetryAfterSeconds: waitSeconds}
	return withKind(&status)
}

// withoutList changes the 503 of a watch to a 429, so that its client opens the watch again and does not list. An
// informer lists if it still gets a 503 after ten retries, but after a 429 it keeps trying to watch (semantics 9.1,
// 9.2). With the 503, all informers would list after each interruption that lasts longer than ten seconds.
func withoutList(refusal *metav1.Status) *metav1.Status {
	if refusal.Code != http.StatusServiceUnavailable {
		return refusal
	}
	return withKind(&apierrors.NewTooManyRequests(refusal.Message, waitSeconds).ErrStatus)
}

func withKind(status *metav1.Status) *metav1.Status {
	status.Kind, status.APIVersion = "Status", "v1"
	return status
}

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
	if status.Code >= http.StatusInternalServerError && !isClients(err) {
		o.log.Info("Request failed", zap.String("auditID", o.event.AuditID), zap.Error(err))
	}
	if o.event.Verb == verbWatch {
		status = withoutList(status)
	}
	o.event.Status = status
	if errors.Is(err, errDraining) {
		o.header().Set("Connection", "close") // clients then reconnect, also over HTTP/2
	}
	var forbidden *forbiddenError
	if errors.As(err, &forbidden) {
		o.header().Set("X-Content-Type-Options", "nosniff")
	}
	WriteStatus(o.w, o.r, status)
}

// WriteStatus writes a Status as the response, in the media type that the request accepts, without transformations. A
// client that accepts only a Table gets indented JSON (semantics 6.3). RetryAfterSeconds also becomes the header
// Retry-After.
func WriteStatus(w http.ResponseWriter, r *http.Request, status *metav1.Status) {
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

// isClients reports whether a client's request caused an error with status code 500 or above. Such an error is not
// logged, because an operator cannot fix it.
func isClients(err error) bool {
	var (
		invalid *invalidRVError
		key     *invalidKeyError
		shards  *invalidShardsError
	)
	return errors.As(err, &invalid) || errors.As(err, &key) || errors.As(err, &shards) || isTooLarge(err) ||
		isNotServed(err)
}

func isNotServed(err error) bool {
	return errors.Is(err, errNotServed) || errors.Is(err, errNotImpersonated) || errors.Is(err, errNothingPassed) ||
		errors.Is(err, errShardsNotServed)
}

func (o *reply) negotiate(codecs runtime.NegotiatedSerializer) (runtime.SerializerInfo, error) {
	_, info, err := negotiation.NegotiateOutputMediaType(o.r, codecs, negotiation.DefaultEndpointRestrictions)
	return info, err
}

func (o *reply) negotiateIn(codecs runtime.NegotiatedSerializer,
	kinds negotiation.EndpointRestrictions) (negotiation.MediaTypeOptions, runtime.SerializerInfo, error) {
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

// writeDeadline writes kube-apiserver's response to a request that timed out before its first byte (semantics 1.1).
// kube-apiserver sets no content type, so net/http sends text/plain.
func writeDeadline(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusGatewayTimeout)
	_, _ = fmt.Fprintln(w, `{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout",`+
		`"reason":"Timeout","details":{},"code":504}`)
}

// notFound returns the 404 of an object. The kind in its details is the resource in the request (semantics 3).
func notFound(resource schema.GroupResource, name string) error {
	return apierrors.NewNotFound(resource, name)
}

func notSupported(resource schema.GroupResource, verb string) error {
	return apierrors.NewMethodNotSupported(resource, verb)
}

func invalidName(name string) error {
	return badRequest(fmt.Sprintf("Name parameter invalid: %q: %s", name,
		strings.Join(content.IsPathSegmentName(name), ";")))
}

// noMarkup escapes a client's text, so that no browser reads it as HTML. kube-apiserver does the same.
var noMarkup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// forbidden returns kube-apiserver's 403 for a denied request, with the authorizer's reason (semantics 8.7).
func forbidden(a auth.Attributes, reason string) error {
	why := noMarkup.Replace(forbiddenMessage(a))
	if reason != "" {
		why += ": " + reason
	}
	return &forbiddenError{apierrors.NewForbidden(schema.GroupResource{Group: a.Group, Resource: a.Resource}, a.Name,
		errors.New(why))}
}

// forbiddenError reports a denied request. Its response has the header X-Content-Type-Options, which other 403s lack.
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
	return fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", a.Caller.Name(), a.Verb, resource, a.Group,
		where)
}

func badRequest(message string) error { return apierrors.NewBadRequest(message) }
