package handlers

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
)

// encodeToken returns the continue token for the objects after the key last. It has the upstream's format, so that the
// facade and kube-apiserver accept each other's tokens (semantics 2.5).
func encodeToken(rv cache.RV, last, prefix string, style upstream.ContinueStyle) string {
	return upstream.ContinueBehind(int64(rv), strings.TrimPrefix(last, prefix), style)
}

// resumption is where a continued list begins. A negative rv means that the rest is read at the newest version.
type resumption struct {
	start string // first key
	rv    int64
}

// decodeToken parses a continue token. Its errors are kube-apiserver's. The request is forwarded if only the upstream
// can produce the error message.
func decodeToken(s, prefix string) (resumption, route, error) {
	fail := func(why string) (resumption, route, error) {
		return resumption{}, route{}, badRequest("invalid continue token: continue key is not valid: " + why)
	}
	data, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return fail(err.Error())
	}
	var t upstream.ContinueToken
	err = json.Unmarshal(data, &t)
	if mismatch := (*json.UnmarshalTypeError)(nil); errors.As(err, &mismatch) {
		return resumption{}, forwardFor(observe.OwnWords), nil // the message names kube-apiserver's Go types
	}
	if err != nil {
		return fail(err.Error())
	}
	switch {
	case t.Version != upstream.ContinueVersion:
		return fail(fmt.Sprintf("server does not recognize this encoded version %v", t.Version))
	case t.RV == 0:
		return fail("incorrect encoded start resourceVersion (version " + upstream.ContinueVersion + ")")
	case t.Start == "":
		return fail("encoded start key empty (version " + upstream.ContinueVersion + ")")
	}
	// With a start key outside the request's prefix, the list would contain objects that the request does not name.
	key := t.Start
	if !strings.HasPrefix(key, "/") {
		key = "/" + key
	}
	if cleaned := path.Clean(key); cleaned != key {
		return fail(t.Start)
	}
	return resumption{start: prefix + key[1:], rv: t.RV}, route{}, nil
}
