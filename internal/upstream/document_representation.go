package upstream

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// documentRepresentation is the part of a request's headers and query that kube-apiserver's discovery and OpenAPI
// responses depend on: media types, compression and indentation. Requests with equal responses have the same
// representation. The upstream then receives one request for a document, however many headers clients invent.
type documentRepresentation struct {
	accept, encoding string // headers that replace the client's
	indented         bool
	// odd: the media type depends on the upstream's release, so the client's Accept header is sent unchanged. Clients can
	// invent any number of odd representations.
	odd bool
}

func representationOf(path string, query url.Values, header http.Header) documentRepresentation {
	f := documentRepresentation{accept: header.Get("Accept"), indented: isPretty(query, header.Get("User-Agent"))}
	accepts, certain := documentAccept(path, f.accept)
	if certain {
		f.accept, f.indented = accepts.header, f.indented || accepts.pretty
	}
	f.encoding, f.odd = documentEncoding(header.Get("Accept-Encoding")), !certain
	f.indented = f.indented && negotiates(path)
	return f
}

// key returns the key of a document in this representation.
func (f documentRepresentation) key(path, hash string) string {
	return path + "\x00" + hash + "\x00" + f.accept + "\x00" + f.encoding + "\x00" + strconv.FormatBool(f.indented)
}

// query returns the query that requests this representation. "pretty" has the same effect as a browser's User-Agent.
func (f documentRepresentation) query(hash string) url.Values {
	query := url.Values{}
	if hash != "" {
		query.Set("hash", hash)
	}
	if f.indented {
		query.Set("pretty", "true")
	}
	return query
}

// negotiates reports whether kube-apiserver encodes the document for each request, as it does discovery. Other
// documents are encoded in advance and never indented.
func negotiates(path string) bool {
	return !strings.HasPrefix(path, "/version") && !strings.HasPrefix(path, "/openapi/")
}

// isPretty reports whether kube-apiserver indents its response: on request, and by default for clients whose output
// people read (semantics 6.8).
func isPretty(query url.Values, agent string) bool {
	if asked := query.Get("pretty"); asked != "" {
		pretty, _ := strconv.ParseBool(asked) // an invalid boolean counts as false
		return pretty
	}
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// documentEncoding reduces an Accept-Encoding header. Discovery is compressed for clients that name "gzip" in exactly
// this spelling. OpenAPI v2 is compressed for those that name it in any case, if its last weight is above 0
// (github.com/NYTimes/gziphandler). kube-apiserver has no other compression.
func documentEncoding(header string) string {
	plain, weighed := false, false
	for element := range strings.SplitSeq(header, ",") {
		plain = plain || strings.TrimSpace(element) == "gzip"
		if weight, ok := weightOfGzip(element); ok {
			weighed = weight > 0
		}
	}
	switch {
	case plain && weighed:
		return "gzip"
	case weighed:
		return "gzip;q=1"
	case plain:
		return "gzip, gzip;q=0"
	}
	return ""
}

// weightOfGzip reads one element of an Accept-Encoding header as gziphandler does. A parameter that is not a weight
// sets the weight to 1. An element with an invalid last weight is ignored.
func weightOfGzip(element string) (weight float64, ok bool) {
	parts := strings.Split(element, ";")
	if !strings.EqualFold(strings.TrimSpace(parts[0]), "gzip") {
		return 0, false
	}
	weight = 1
	var err error
	for _, part := range parts[1:] {
		weight = 1
		if written, found := strings.CutPrefix(strings.TrimSpace(part), "q="); found {
			weight, err = strconv.ParseFloat(written, 64)
		}
	}
	return weight, err == nil
}
