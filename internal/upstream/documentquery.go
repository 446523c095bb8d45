package upstream

import (
	"net/url"
	"strconv"
	"strings"
)

// openAPIv3 is where the documents are that have a name by their content.
const openAPIv3 = "/openapi/v3/"

// documentQuery is what of a query an answer depends on: "pretty", by its truth, and of a document of OpenAPI v3 its
// hash (k8s.io/kube-openapi/pkg/handler3). kube-apiserver looks at no other parameter where it describes itself, so
// that whatever else is sent shares one answer. The time that a request may take the facade itself bounds.
func documentQuery(path string, query url.Values) url.Values {
	matters := url.Values{}
	if pretty := query.Get("pretty"); pretty != "" {
		truth, _ := strconv.ParseBool(pretty) // what is no boolean is false
		matters.Set("pretty", strconv.FormatBool(truth))
	}
	if hash := query.Get("hash"); hash != "" && strings.HasPrefix(path, openAPIv3) {
		matters.Set("hash", hash)
	}
	return matters
}

// named tells whether a document is the one whose hash was asked for, or none was. What answers to any hash is not
// kept: there could be as many copies as a client makes up.
func (d *Document) named(query url.Values) bool {
	hash := query.Get("hash")
	return hash == "" || d.Header.Get("Etag") == strconv.Quote(hash)
}
