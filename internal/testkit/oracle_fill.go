package testkit

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// Blanks in a question's query stand for values that depend on the running cluster.
const (
	blankVersion       = "{version}"        // the collection's resourceVersion at the facade
	blankUpstreamToken = "{token:upstream}" // kube-apiserver's continue token after the collection's first object
	blankFacadeToken   = "{token:facade}"   // the facade's continue token after the first object
	// Forgeries of kube-apiserver's token.
	blankLatestToken  = "{token:latest}"  // with the version -1, as in a 410
	blankFutureToken  = "{token:future}"  // with a version that is far ahead
	blankMovedToken   = "{token:moved}"   // with another key
	blankOutsideToken = "{token:outside}" // with a key outside the collection
	blankCutToken     = "{token:cut}"     // truncated
)

func isBlank(value string) bool { return strings.HasPrefix(value, "{") }

// Fill replaces the blanks of a question. If its path is not a collection, the version is 1 and tokens are malformed.
// If the collection has one object, tokens are empty.
func (o *Oracle) Fill(t testing.TB, q Question) Question {
	t.Helper()
	for blank, asker := range map[string]*Asker{blankVersion: o.Facade, blankUpstreamToken: o.Upstream,
		blankFacadeToken: o.Facade} {
		if strings.Contains(q.Path, blank) {
			q.Path = strings.ReplaceAll(q.Path, blank, asker.know(t, q, blank))
		}
	}
	for blank, forge := range forgeries {
		if strings.Contains(q.Path, blank) {
			q.Path = strings.ReplaceAll(q.Path, blank, forge(o.Upstream.know(t, q, blankUpstreamToken)))
		}
	}
	return q
}

// forgeries change a token. A malformed token is not changed.
var forgeries = map[string]func(string) string{
	blankLatestToken: func(token string) string { return forge(token, `"rv":-1`, "") },
	blankFutureToken: func(token string) string { return forge(token, `"rv":999999999999`, "") },
	blankMovedToken:  func(token string) string { return forge(token, "", `"start":"/b\u0000"`) },
	blankOutsideToken: func(token string) string {
		return forge(token, "", `"start":"../../x"`)
	},
	blankCutToken: func(token string) string { return token[:len(token)*2/3] },
}

var tokenStart = regexp.MustCompile(`"start":".*"`)

// forge replaces a token's version and start, unless they are empty.
func forge(token, version, start string) string {
	content, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || token == "" {
		return token
	}
	if version != "" {
		content = tokenVersion.ReplaceAllLiteral(content, []byte(version))
	}
	if start != "" {
		content = tokenStart.ReplaceAllLiteral(content, []byte(start))
	}
	return base64.RawURLEncoding.EncodeToString(content)
}

// listPath returns the path of a question or, for a watch, of its collection. A watch must not start at an object's
// version, which may be older than the facade. listPath replaces the deprecated path of a watch, because a request to
// that path would open a watch.
func (q Question) listPath() string {
	path, _, _ := strings.Cut(q.Path, "?")
	if info, _ := q.info(); info != nil && info.Verb == "watch" {
		path = strings.Replace(path, "/watch/", "/", 1)
		if head, _, ok := strings.Cut(path, "/"+info.Resource+"/"); ok {
			path = head + "/" + info.Resource
		}
	}
	return path
}

// know returns the value of one blank. The facade serves a watch from a version only if its lane existed at that
// version. So know first fills the lane of the watch's encoding, and then reads the version.
func (a *Asker) know(t testing.TB, q Question, blank string) string {
	t.Helper()
	path := q.listPath()
	if blank == blankVersion && q.Watches() {
		_ = a.ask(t, Question{Path: path + "?resourceVersion=0", Header: q.Header})
	}
	var list struct {
		Metadata struct{ ResourceVersion, Continue string }
	}
	err := json.Unmarshal(a.ask(t, Question{Path: path + "?limit=1"}).Body, &list)
	isList := err == nil && list.Metadata.ResourceVersion != ""
	switch {
	case !isList && blank == blankVersion:
		return "1"
	case !isList:
		return "none"
	case blank == blankVersion:
		return list.Metadata.ResourceVersion
	}
	return list.Metadata.Continue
}
