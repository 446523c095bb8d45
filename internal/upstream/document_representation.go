package upstream

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// documentRepresentation contains the properties of a request on which kube-apiserver's discovery and OpenAPI responses
// depend: media types, compression and indentation. Requests with the same representation share one request to the
// upstream, even if their headers differ.
type documentRepresentation struct {
	accept, encoding string // headers that replace the client's
	indented         bool
	// odd is set if the media type of the response depends on the upstream's release. The client's Accept header is
	// then sent unchanged. Clients can create any number of odd representations.
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

func (f documentRepresentation) key(path, hash string) string {
	return path + "\x00" + hash + "\x00" + f.accept + "\x00" + f.encoding + "\x00" + strconv.FormatBool(f.indented)
}

// query returns the query that requests this representation. Indentation is requested by pretty=true, even if
// kube-apiserver would indent because of the client's User-Agent.
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

// negotiates reports whether kube-apiserver encodes the document for each request. kube-apiserver encodes only
// discovery for each request. It encodes other documents in advance, and never indents them.
func negotiates(path string) bool {
	return !strings.HasPrefix(path, "/version") && !strings.HasPrefix(path, "/openapi/")
}

// isPretty reports whether kube-apiserver indents its response. The parameter pretty decides. Without this parameter,
// responses to curl, Wget and browsers are indented (semantics 6.8).
func isPretty(query url.Values, agent string) bool {
	if asked := query.Get("pretty"); asked != "" {
		pretty, _ := strconv.ParseBool(asked) // an invalid boolean counts as false
		return pretty
	}
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// documentEncoding reduces an Accept-Encoding header to the information that kube-apiserver uses. gzip is the only
// compression of kube-apiserver. kube-apiserver compresses discovery if the header contains "gzip" in exactly this
// spelling. It compresses OpenAPI v2 if the last valid weight of "gzip", in upper or lower case, is above 0
// (github.com/NYTimes/gziphandler).
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
// sets the weight to 1. ok is false for another encoding, and if the last weight is invalid.
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
