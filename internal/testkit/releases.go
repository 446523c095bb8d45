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

// release is the one of kube-apiserver that is asked. The facade answers as today's whichever it is; what an older one
// answers otherwise is a line each of docs/divergences.md, and what is here hides no more than that from a comparison.
type release string

// The older ones that there are differences of.
const (
	today release = ""
	v1_30 release = "1.30"
	v1_34 release = "1.34"
)

func asked() release { return release(settings.Upstream()) }

// answers are what a release and the facade answered, as today's would have.
func (r release) answers(q Question, want, got *Answer) (*Answer, *Answer) {
	if r == today {
		return want, got
	}
	if query := q.query(); r == v1_30 && query.Has("continue") && query.Get("resourceVersion") == "0" && query.Has("limit") &&
		want.Code == http.StatusOK && got.Code == http.StatusOK {
		return got, got // the limit counts in the one, and not in the other
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
		(q.method() == http.MethodHead || bytes.Contains(want.Body, []byte(badVersion)) && bytes.Contains(got.Body, []byte("invalid resource version: "+badVersion))) {
		w.Code, w.Body = g.Code, g.Body
	}
	return &w, &g
}

// recordings are those of a watch, as today's would have been.
func (r release) recordings(want, got *Recording) (*Recording, *Recording) {
	if r == today {
		return want, got
	}
	query := got.Question.query()
	if r == v1_30 {
		streams := bytes.Contains(want.text(), []byte("unless the WatchList feature gate is enabled")) ||
			want.Code == 0 && got.Code == http.StatusSwitchingProtocols // a handshake that is refused has no text
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

// EndsMarked tells whether the release that is asked tells where the initial events of a watch end, if the watch has
// any and wants bookmarks.
func (q Question) EndsMarked() bool { return asked().marks(q) }

// marks tells whether a watch that has initial events and wants bookmarks tells where they end. Today's does so even if
// it was not asked for initial events.
func (r release) marks(q Question) bool { return r != v1_30 || q.query().Has("sendInitialEvents") }

// knownOnlyHere tells of a version that a quiet resource's cache has not heard of: the release waits three seconds for
// it and gives up, and the facade knows by itself that nothing is missing.
func (q Question) knownOnlyHere(want, got *Answer) bool {
	known := q.reads().kind == someAge && want.Code == http.StatusGatewayTimeout && bytes.Contains(want.Body, []byte("Too large resource version"))
	if got.Code == http.StatusOK && q.reads().list {
		return known && got.listVersion() >= q.reads().floor
	}
	return known && (got.Code == http.StatusOK || got.Code == http.StatusNotFound)
}

// labelKey is what a key of a label selector is called that is none; in YAML the line may end anywhere.
var labelKey = regexp.MustCompile(`a\s+(?:qualified\s+name|valid\s+label\s+key)\s+must`)

func withLabelKey(text []byte) []byte { return labelKey.ReplaceAll(text, []byte("a label key must")) }

// zeroShares is an annotation that 1.30 writes into objects of a version which it converts, and leaves out of Tables,
// indented or not. The facade makes no protobuf of those.
var zeroShares = regexp.MustCompile(`"annotations":\s*\{\s*"flowcontrol\.k8s\.io/v1beta3-preserve-zero-concurrency-shares":\s*""\s*\},\s*`)

const badVersion = "resourceVersion: Invalid value: "

// badVersion tells whether a question for a list names a version that is none.
func (q Question) badVersion() bool {
	version := q.query().Get("resourceVersion")
	_, err := strconv.ParseUint(version, 10, 64)
	return version != "" && err != nil && q.reads().list
}

func (q Question) query() url.Values {
	_, raw, _ := strings.Cut(q.Path, "?")
	query, _ := url.ParseQuery(raw) // what cannot be read is not there
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

// withSlashes gives a list's continue token the slash.
func withSlashes(body []byte) []byte {
	if isListEnvelope(body) {
		return inside(body, inListMeta(body, listToken), withSlash)
	}
	if isEnvelope(body) {
		return body
	}
	return continueToken.ReplaceAllFunc(body, withSlash)
}

// withSlash gives the key in a continue token the slash that it begins with since the cache gives tokens, too.
func withSlash(field []byte) []byte {
	at := bytes.LastIndexAny(field, `": `) + 1
	token, err := base64.RawURLEncoding.DecodeString(string(field[at:]))
	if err != nil || bytes.Contains(token, []byte(`"start":"/`)) {
		return field
	}
	token = bytes.Replace(token, []byte(`"start":"`), []byte(`"start":"/`), 1)
	return append(bytes.Clone(field[:at]), base64.RawURLEncoding.EncodeToString(token)...)
}
