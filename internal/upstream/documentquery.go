package upstream

import (
	"net/url"
	"strconv"
	"strings"
)

// openAPIv3 is where the documents are that have a name by their content.
const openAPIv3 = "/openapi/v3/"

// hashIn is the hash that a document of OpenAPI v3 is asked for by (k8s.io/kube-openapi/pkg/handler3). kube-apiserver
// looks at no other parameter where it describes itself, but for "pretty" (documentRepresentation), so that whatever
// else is sent shares one answer. The time that a request may take the facade itself bounds.
func hashIn(path string, query url.Values) string {
	if !strings.HasPrefix(path, openAPIv3) {
		return ""
	}
	return query.Get("hash")
}

// named tells whether a document is the one whose hash was asked for, or none was. What answers to any hash is not
// kept: there could be as many copies as a client makes up.
func (d *Document) named(query url.Values) bool {
	hash := query.Get("hash")
	return hash == "" || d.Header.Get("Etag") == strconv.Quote(hash)
}
