package testkit

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// readKind is how old the answer to a question may be (semantics 2.1, 3).
type readKind int

const (
	noRead     readKind = iota // not a read of objects, or a malformed one
	mostRecent                 // includes every earlier write
	someAge                    // any state at or above the floor
	exactly                    // the state of one resourceVersion
)

type reads struct {
	kind  readKind
	list  bool
	floor uint64
}

// mayBeOld reports whether a correct answer may lag behind the upstream.
func (r reads) mayBeOld() bool { return r.kind == someAge }

// masksVersion reports whether the lists of the two servers may have different resourceVersions.
func (r reads) masksVersion() bool { return r.list && r.kind != exactly }

var pathResolver = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api")}

// info returns kube-apiserver's RequestInfo of the question, and its query. The info is nil if the path is not the path
// of a resource. Only the parameter "watch" affects the info.
func (q Question) info() (*request.RequestInfo, url.Values) {
	target, err := url.Parse(q.Path)
	if err != nil {
		return nil, nil
	}
	query := target.Query()
	target.RawQuery = ""
	if watch, ok := query["watch"]; ok {
		target.RawQuery = url.Values{"watch": watch}.Encode()
	}
	info, err := pathResolver.NewRequestInfo(&http.Request{Method: q.method(), URL: target})
	if err != nil || !info.IsResourceRequest {
		return nil, nil
	}
	return info, query
}

func (q Question) reads() reads {
	info, query := q.info()
	if info == nil || (info.Verb != "list" && info.Verb != "get") {
		return reads{}
	}
	version, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	r := reads{list: info.Verb == "list", floor: version}
	switch {
	case query.Get("continue") != "":
		r.kind = tokenKind(query.Get("continue"))
	case query.Get("resourceVersion") == "":
		r.kind = mostRecent
	case err != nil:
	case r.list && version > 0 && legacyExact(query), query.Get("resourceVersionMatch") == "Exact":
		r.kind = exactly
	default:
		r.kind = someAge
	}
	return r
}

// legacyExact reports whether a query has a limit and no resourceVersionMatch. A version then means exactly that
// version.
func legacyExact(query url.Values) bool {
	limit, err := strconv.Atoi(query.Get("limit"))
	return query.Get("resourceVersionMatch") == "" && err == nil && limit > 0
}

// tokenKind returns the kind of a read with a continue token. The read is at the token's version or, if that version is
// negative, at the current state.
func tokenKind(token string) readKind {
	var content struct {
		RV int64 `json:"rv"`
	}
	decoded, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || json.Unmarshal(decoded, &content) != nil {
		return noRead
	}
	if content.RV < 0 {
		return mostRecent
	}
	return exactly
}
