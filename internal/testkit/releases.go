package testkit

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// release is the release of the tested kube-apiserver. The facade answers like the current release in front of any
// release. This file hides only the differences of older releases that docs/divergences.md lists.
type release string

// The older releases with differences.
const (
	today release = ""
	v1_30 release = "1.30"
	v1_34 release = "1.34"
)

func asked() release { return release(settings.Upstream()) }

// answers converts the answers of a release and of the facade to those of the current release.
func (r release) answers(q Question, want, got *Answer) (*Answer, *Answer) {
	if r == today {
		return want, got
	}
	if query := q.query(); r == v1_30 && query.Has("continue") && query.Get("resourceVersion") == "0" &&
		query.Has("limit") &&
		want.Code == http.StatusOK && got.Code == http.StatusOK {
		return got, got // only one of the two servers applies the limit
	}
	w, g := *want, *got
	w.Body, g.Body = inTexts(w.Body, withLabelKey), inTexts(g.Body, withLabelKey)
	if r != v1_30 {
		return &w, &g
	}
	if q.knownOnlyHere(want, got) {
		return got, got
	}
	w.Body, g.Body = withSlashes(w.Body), withSlashes(g.Body)
	if strings.HasPrefix(q.Path, "/apis/flowcontrol.apiserver.k8s.io/v1beta3/") {
		g.Body = zeroShares.ReplaceAll(g.Body, nil)
		w.Body = zeroShares.ReplaceAll(w.Body, nil)
	}
	if q.badVersion() && want.Code == http.StatusInternalServerError && got.Code == http.StatusBadRequest &&
		(q.method() == http.MethodHead || bytes.Contains(want.Body, []byte(badVersion)) &&
			bytes.Contains(got.Body, []byte("invalid resource version: "+badVersion))) {
		w.Code, w.Body = g.Code, g.Body
	}
	return &w, &g
}

// recordings converts two recordings of a watch to those of the current release.
func (r release) recordings(want, got *Recording) (*Recording, *Recording) {
	if r == today {
		return want, got
	}
	query := got.Question.query()
	if r == v1_30 {
		streams := bytes.Contains(want.text(), []byte("unless the WatchList feature gate is enabled")) ||
			want.Code == 0 && got.Code == http.StatusSwitchingProtocols // a refused handshake has no text
		forbidden := bytes.Contains(got.text(), []byte("resourceVersionMatch is forbidden when continue is provided"))
		if query.Has("sendInitialEvents") && streams || want.Code == http.StatusOK && query.Has("continue") && forbidden {
			return got, got
		}
	}
	if got.Header.Get("Content-Encoding") == "gzip" && want.Header.Get("Content-Encoding") == "" {
		g := *got
		g.Header = got.Header.Clone()
		g.Header.Del("Content-Encoding")
		g.Header.Del("Vary")
		return want, &g
	}
	return want, got
}

// EndsMarked reports whether the tested release marks the end of the initial events of this watch, if the watch has
// initial events and requests bookmarks.
func (q Question) EndsMarked() bool { return asked().marks(q) }

// marks is EndsMarked for a release. The current release marks the end even if sendInitialEvents was not requested.
func (r release) marks(q Question) bool { return r != v1_30 || q.query().Has("sendInitialEvents") }

// knownOnlyHere reports whether the release timed out on a version that the cache of a quiet resource has not reached.
// The facade answers, because it has confirmed that no event is missing.
func (q Question) knownOnlyHere(want, got *Answer) bool {
	known := q.reads().kind == someAge && want.Code == http.StatusGatewayTimeout &&
		bytes.Contains(want.Body, []byte("Too large resource version"))
	if got.Code == http.StatusOK && q.reads().list {
		return known && got.listVersion() >= q.reads().floor
	}
	return known && (got.Code == http.StatusOK || got.Code == http.StatusNotFound)
}

// labelKey matches the words that releases use differently for a label key. In YAML the line may be wrapped anywhere.
var labelKey = regexp.MustCompile(`a\s+(?:qualified\s+name|valid\s+label\s+key)\s+must`)

func withLabelKey(text []byte) []byte { return labelKey.ReplaceAll(text, []byte("a label key must")) }

// zeroShares matches, in JSON, an annotation that 1.30 writes into objects of a converted version, but not into Tables.
// The facade does not encode such objects as protobuf.
var zeroShares = regexp.MustCompile(`"annotations":\s*\{\s*"flowcontrol\.k8s\.io/v1beta3-preserve-zero-concurrency-shares":\s*""\s*\},\s*`)

const badVersion = "resourceVersion: Invalid value: "

func (q Question) badVersion() bool {
	version := q.query().Get("resourceVersion")
	_, err := strconv.ParseUint(version, 10, 64)
	return version != "" && err != nil && q.reads().list
}

func (q Question) query() url.Values {
	_, raw, _ := strings.Cut(q.Path, "?")
	query, _ := url.ParseQuery(raw) // malformed parameters are ignored
	return query
}

func (r *Recording) text() []byte {
	var all []byte
	for _, frame := range r.Frames {
		all = append(all, frame.Line...)
	}
	return all
}

var continueToken = regexp.MustCompile(`"?continue"?: ?"?[A-Za-z0-9_-]+`)

// withSlashes applies withSlash to a list's continue token.
func withSlashes(body []byte) []byte {
	if isListEnvelope(body) {
		return inside(body, inListMeta(body, listToken), withSlash)
	}
	if isEnvelope(body) {
		return body
	}
	return continueToken.ReplaceAllFunc(body, withSlash)
}

// withSlash adds the slash at the beginning of a continue token's key, which newer releases write.
func withSlash(field []byte) []byte {
	at := bytes.LastIndexAny(field, `": `) + 1
	token, err := base64.RawURLEncoding.DecodeString(string(field[at:]))
	if err != nil || bytes.Contains(token, []byte(`"start":"/`)) {
		return field
	}
	token = bytes.Replace(token, []byte(`"start":"`), []byte(`"start":"/`), 1)
	return append(bytes.Clone(field[:at]), base64.RawURLEncoding.EncodeToString(token)...)
}
