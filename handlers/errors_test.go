package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// fails returns the response to a request that ended with an error.
func fails(err error, accept, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	newReply(w, r, zap.NewNop(), time.Minute).fail(err)
	return w
}

// Every error has kube-apiserver's bytes where kube-apiserver has this error.
func TestErrorResponses(t *testing.T) {
	const head = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":`
	for name, c := range map[string]struct {
		err   error
		code  int
		retry string
		body  string
	}{
		"too large (semantics 2.2)": {
			&cache.TooLargeError{Requested: 999999, Current: 248}, 504, "1",
			`"Timeout: Too large resource version: 999999, current: 248","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}`,
		},
		"expired (4.1)": {
			&cache.ExpiredError{Requested: 1, Oldest: 231}, 410, "", `"too old resource version: 1 (231)","reason":"Expired","code":410}`,
		},
		"not ready (2.1)": {
			&notReadyError{}, 429, "1", `"storage is (re)initializing","reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429}`,
		},
		"not ready, with a cause (2.1)": {
			fmt.Errorf("wrapped: %w", &notReadyError{cause: errUnfilled}), 429, "1",
			`"storage is (re)initializing: the upstream cannot be read at the moment","reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429}`,
		},
		"method (8.5)": {
			errMethod, 405, "", `"the server does not allow this method on the requested resource","reason":"MethodNotAllowed","details":{},"code":405}`,
		},
		"not found (3)": {
			notFound(schema.GroupResource{Resource: "configmaps"}, "nope"), 404, "",
			`"configmaps \"nope\" not found","reason":"NotFound","details":{"name":"nope","kind":"configmaps"},"code":404}`,
		},
		"not found in a group (3)": {
			notFound(schema.GroupResource{Group: "ex.io", Resource: "widgets"}, "nope"), 404, "",
			`"widgets.ex.io \"nope\" not found","reason":"NotFound","details":{"name":"nope","group":"ex.io","kind":"widgets"},"code":404}`,
		},
		"bad request (1.2)": {badRequest("x"), 400, "", `"x","reason":"BadRequest","code":400}`},
		"malformed resourceVersion (1.5)": {
			func() error { _, err := parseRV("abc"); return err }(), 500, "",
			`"resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax","code":500}`,
		},
		"an invalid self review": {
			&auth.InvalidError{Answer: apierrors.NewInvalid(schema.GroupKind{Group: "authorization.k8s.io"}, "", nil).ErrStatus}, 422, "",
			`".authorization.k8s.io \"\" is invalid","reason":"Invalid","details":{"group":"authorization.k8s.io"},"code":422}`,
		},
		"too old": {
			staleError{}, 503, "1",
			`"the cache has received nothing from the upstream kube-apiserver for too long","reason":"ServiceUnavailable","details":{"retryAfterSeconds":1},"code":503}`,
		},
		"unreachable": {
			&upstream.UnreachableError{Err: errors.New("dial tcp 10.0.0.1: secret")}, 503, "1",
			`"the upstream kube-apiserver cannot be reached, or its response cannot be used","reason":"ServiceUnavailable","details":{"retryAfterSeconds":1},"code":503}`,
		},
		"stopped": {
			reflector.ErrStopped, 503, "1", `"the server or its cache of the resource is stopping","reason":"ServiceUnavailable","details":{"retryAfterSeconds":1},"code":503}`,
		},
		"closed": {
			cache.ErrClosed, 503, "1", `"the server or its cache of the resource is stopping","reason":"ServiceUnavailable","details":{"retryAfterSeconds":1},"code":503}`,
		},
		"anything else": {
			errors.New("secret detail"), 500, "",
			`"Internal error occurred: the request could not be answered","reason":"InternalError","details":{"causes":[{"message":"the request could not be answered"}]},"code":500}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := fails(c.err, "", "/api/v1/pods")
			if w.Code != c.code || w.Header().Get("Retry-After") != c.retry || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("got %d, %v", w.Code, w.Header())
			}
			if diff := cmp.Diff(head+c.body+"\n", w.Body.String()); diff != "" {
				t.Error(diff)
			}
			// In a watch the same Status is in an ERROR event.
			framer := jsonwire.Encoding{}.Shape(wire.Description{}).Framer(wire.Representation{})
			if got := string(framer.AppendError(nil, statusOf(c.err))); got != `{"type":"ERROR","object":`+head+c.body+"}\n" {
				t.Errorf("in a stream: got %s", got)
			}
		})
	}
}

// A request that timed out before its first byte gets kube-apiserver's bytes (semantics 1.1).
func TestTimeoutResponse(t *testing.T) {
	w := fails(fmt.Errorf("wrapped: %w", errTimeUp), "", "/api/v1/pods")
	const want = `{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}` + "\n"
	if w.Code != http.StatusGatewayTimeout || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || w.Body.String() != want {
		t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
}

// Errors are negotiated again, without transformations (semantics 6.3).
func TestErrorNegotiation(t *testing.T) {
	const (
		compact  = `{"kind":"Status",`
		indented = "{\n  \"kind\": \"Status\","
	)
	for _, c := range []struct{ accept, query, mediaType, prefix string }{
		{"", "", "application/json", compact},
		{"*/*", "", "application/json", compact},
		{"application/json", "", "application/json", compact},
		{"application/json", "?pretty=1", "application/json", indented},
		{"application/json", "?pretty=true", "application/json", indented},
		{"application/json", "?pretty=0", "application/json", compact},
		{"application/json;pretty=1", "", "application/json", indented},
		{"application/yaml", "", "application/yaml", "apiVersion: v1\ncode: 404\n"},
		{"application/vnd.kubernetes.protobuf", "", "application/vnd.kubernetes.protobuf", "k8s\x00"},
		{"application/vnd.kubernetes.protobuf,application/json", "", "application/vnd.kubernetes.protobuf", "k8s\x00"},
		{"application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "", "application/json", compact},
		{"application/json;as=Table;v=v1;g=meta.k8s.io", "", "application/json", indented},
		{"text/html", "", "application/json", indented},
		{"text/html, */*;q=0.1", "", "application/json", compact},
	} {
		w := fails(notFound(schema.GroupResource{Resource: "pods"}, "x"), c.accept, "/api/v1/namespaces/a/pods/x"+c.query)
		if w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != c.mediaType || !strings.HasPrefix(w.Body.String(), c.prefix) {
			t.Errorf("%q %s: got %d %s %q", c.accept, c.query, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
		if c.mediaType == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: no JSON: %s", c.accept, w.Body)
		}
		if c.prefix == indented && bytes.HasSuffix(w.Body.Bytes(), []byte("\n")) {
			t.Errorf("%q: indented JSON ends with a newline", c.accept)
		}
	}
}
