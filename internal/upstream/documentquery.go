package upstream

import (
	"net/url"
	"strconv"
	"strings"
)

// openAPIv3 is the path prefix of documents that are addressed by a hash of their content.
const openAPIv3 = "/openapi/v3/"

// hashIn returns the hash in a request for an OpenAPI v3 document (k8s.io/kube-openapi/pkg/handler3). kube-apiserver
// ignores all other parameters of documents but "pretty", which documentRepresentation contains. Requests that differ
// only in ignored parameters share one response. The facade enforces the parameter timeout.
func hashIn(path string, query url.Values) string {
	if !strings.HasPrefix(path, openAPIv3) {
		return ""
	}
	return query.Get("hash")
}

// named reports whether a document has the requested hash; true if no hash was requested. A document with another hash
// is not stored, because clients could send any number of hashes.
func (d *Document) named(query url.Values) bool {
	hash := query.Get("hash")
	return hash == "" || d.Header.Get("Etag") == strconv.Quote(hash)
}
