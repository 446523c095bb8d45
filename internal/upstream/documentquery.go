package upstream

import (
	"net/url"
	"strconv"
	"strings"
)

const openAPIv3 = "/openapi/v3/"

// hashIn returns the hash in a request for an OpenAPI v3 document (k8s.io/kube-openapi/pkg/handler3). The only other
// parameter of documents that kube-apiserver uses is "pretty" (documentRepresentation). The facade itself enforces the
// parameter timeout. Requests that differ in ignored parameters share one response.
func hashIn(path string, query url.Values) string {
	if !strings.HasPrefix(path, openAPIv3) {
		return ""
	}
	return query.Get("hash")
}

// named reports whether a document has the requested hash. It returns true if no hash was requested. A document with
// another hash is not stored, because clients could send any number of hashes.
func (d *Document) named(query url.Values) bool {
	hash := query.Get("hash")
	return hash == "" || d.Header.Get("Etag") == strconv.Quote(hash)
}
