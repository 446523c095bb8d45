package upstream

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// documentRepresentation is what of a request's headers and query kube-apiserver's answer depends on, where it
// describes itself: the media types that it chooses from, whether it compresses, and whether it indents. Everything
// that it answers alike has one form, so that a document is asked for once however many headers clients make up.
type documentRepresentation struct {
	accept, encoding string // headers that are sent instead of the client's
	indented         bool
	// odd: what the client accepts depends on the upstream, so that it is sent as it is. Odd forms are as many as a
	// client makes up.
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

// key names the form of a document.
func (f documentRepresentation) key(path, hash string) string {
	return path + "\x00" + hash + "\x00" + f.accept + "\x00" + f.encoding + "\x00" + strconv.FormatBool(f.indented)
}

// query asks for the form of a document. "pretty" says the same as the name of a browser.
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

// negotiates tells discovery, of which kube-apiserver's own library makes what was asked for, from documents that are
// ready: of these no indented form is made.
func negotiates(path string) bool {
	return !strings.HasPrefix(path, "/version") && !strings.HasPrefix(path, "/openapi/")
}

// isPretty tells whether kube-apiserver indents: where a client asks for that, or else for clients that a person reads
// the output of (semantics 6.8).
func isPretty(query url.Values, agent string) bool {
	if asked := query.Get("pretty"); asked != "" {
		pretty, _ := strconv.ParseBool(asked) // what is no boolean is false
		return pretty
	}
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// documentEncoding reduces an Accept-Encoding. Discovery is compressed for clients that name gzip as it is; OpenAPI v2
// for those that name it in any case, and as the last thing said of it with a weight above 0
// (github.com/NYTimes/gziphandler). kube-apiserver compresses in no other way.
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

// weightOfGzip reads one element of an Accept-Encoding as gziphandler does: a parameter that is no weight makes it 1,
// and a weight that is no number none.
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
