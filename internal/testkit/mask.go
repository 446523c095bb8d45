package testkit

import (
	"encoding/base64"
	"net/http"
	"regexp"
)

// maskedHeaders contains the headers that comparisons ignore. docs/divergences.md lists each with its reason.
var maskedHeaders = map[string]string{
	"Audit-Id":                          "each answer has its own id",
	"Date":                              "the two answers have different times",
	"Last-Modified":                     "kube-apiserver sometimes encodes a document again; a cached copy keeps its time",
	"Content-Length":                    "net/http sets it when a body fits its buffer; bodies are compared instead",
	"Transfer-Encoding":                 "see Content-Length",
	"X-Kubernetes-Pf-Flowschema-Uid":    "identifies a flow schema of kube-apiserver",
	"X-Kubernetes-Pf-Prioritylevel-Uid": "identifies a priority level of kube-apiserver",
}

// listVersions match the resourceVersion and the continue token of a list. Both contain the version of the cache that
// answers. Every expression has the groups "rv" and "token" (the token may be absent). Only the list's own metadata
// matches, because it is at the beginning, at the end, or not indented.
var listVersions = []*regexp.Regexp{
	// built-in style, Table and PartialObjectMetadataList; compact or indented
	regexp.MustCompile(`^\{\s*"kind":\s*"(?:[A-Za-z]*List|Table)",\s*"apiVersion":\s*"[^"]*",\s*"metadata":\s*\{\s*` +
		`"resourceVersion":\s*"(?P<rv>\d+)"(?:,\s*"continue":\s*"(?P<token>[^"]*)")?`),
	// custom resource style
	regexp.MustCompile(`"kind":\s*"[A-Za-z]*List",\s*"metadata":\s*\{\s*"continue":\s*"(?P<token>[^"]*)",\s*` +
		`(?:"remainingItemCount":\s*\d+,\s*)?"resourceVersion":\s*"(?P<rv>\d+)"\s*\}\s*\}\n?$`),
	// YAML
	regexp.MustCompile(`(?m)^metadata:\n(?:  continue: "?(?P<token>[^"\n]*)"?\n)?(?:  remainingItemCount: \d+\n)?  resourceVersion: "(?P<rv>\d+)"\n`),
}

var maskedText = []struct {
	pattern *regexp.Regexp
	by      string
	reason  string
}{
	{regexp.MustCompile(`(Too large resource version: \d+, current: )\d+`), "${1}N",
		"each server names its own current version"},
	{regexp.MustCompile(`(too old resource version: \d+ )\(\d+\)`), "${1}(N)", "each server names its own window"},
}

var tokenVersion = regexp.MustCompile(`"rv":\d+`)

func maskHeader(header http.Header) http.Header {
	masked := http.Header{}
	for name, values := range header {
		if _, ok := maskedHeaders[name]; !ok {
			masked[name] = values
		}
	}
	return masked
}

func maskBody(body []byte) []byte {
	return inTexts(body, func(text []byte) []byte {
		for _, mask := range maskedText {
			text = mask.pattern.ReplaceAll(text, []byte(mask.by))
		}
		return text
	})
}

// maskList masks a list's own resourceVersion, in its metadata and in its continue token. The rest of the token is
// kept.
func maskList(body []byte) []byte {
	if isListEnvelope(body) {
		body = inside(body, inListMeta(body, listRV), func([]byte) []byte { return []byte("N") })
		return inside(body, inListMeta(body, listToken),
			func(token []byte) []byte { return []byte(maskToken(string(token))) })
	}
	rv, token, ok := listVersion(body)
	if !ok {
		return body
	}
	masked := append([]byte(nil), body[:min(rv.from, token.from)]...)
	first, second := rv, token
	if token.from < rv.from {
		first, second = token, rv
	}
	masked = append(masked, first.masked...)
	masked = append(masked, body[first.to:second.from]...)
	masked = append(masked, second.masked...)
	return append(masked, body[second.to:]...)
}

type span struct {
	from, to int
	masked   string
}

// listVersion finds a list's resourceVersion and continue token. The token's span is empty if there is none.
func listVersion(body []byte) (rv, token span, ok bool) {
	for _, expression := range listVersions {
		at := expression.FindSubmatchIndex(body)
		if at == nil {
			continue
		}
		i := 2 * expression.SubexpIndex("rv")
		rv = span{from: at[i], to: at[i+1], masked: "N"}
		token = span{from: rv.to, to: rv.to}
		if i = 2 * expression.SubexpIndex("token"); at[i] >= 0 {
			token = span{from: at[i], to: at[i+1], masked: maskToken(string(body[at[i]:at[i+1]]))}
		}
		return rv, token, true
	}
	return rv, token, false
}

func maskToken(token string) string {
	decoded, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return token
	}
	return string(tokenVersion.ReplaceAll(decoded, []byte(`"rv":N`)))
}
