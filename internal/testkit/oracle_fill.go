package testkit

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// Blanks stand in a question's query for what only a running cluster knows.
const (
	blankVersion       = "{version}"        // the collection's resourceVersion, as the facade says
	blankUpstreamToken = "{token:upstream}" // the continue token after the collection's first object, from kube-apiserver
	blankFacadeToken   = "{token:facade}"   // the same from the facade
	// What a client might make of kube-apiserver's token.
	blankLatestToken  = "{token:latest}"  // of no version, as a 410 offers it
	blankFutureToken  = "{token:future}"  // of a version far ahead
	blankMovedToken   = "{token:moved}"   // of another key
	blankOutsideToken = "{token:outside}" // of a key that is not below the collection
	blankCutToken     = "{token:cut}"     // without its end
)

func isBlank(value string) bool { return strings.HasPrefix(value, "{") }

// Fill asks for what the blanks of a question stand for. What is no collection has version 1 and a malformed token; a
// collection that ends after its first object has an empty one.
func (o *Oracle) Fill(t testing.TB, q Question) Question {
	t.Helper()
	for blank, asker := range map[string]*Asker{blankVersion: o.Facade, blankUpstreamToken: o.Upstream, blankFacadeToken: o.Facade} {
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

// forgeries make one token of another; what is no token stays as it is.
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

// forge replaces a token's version or start where one is given.
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

// listPath is the path of what a question reads or, if it watches, of the collection: a watch starts at no object's
// version, which may be older than the facade, and the deprecated path would open one.
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

// know asks for what one blank stands for. A watch at a version is told what came after it only where the facade's
// cache of its encoding is as old: so that is filled first, and the version is of what is there then.
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
