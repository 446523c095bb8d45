package metrics

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/listfacade/listfacade/internal/observe"
)

// requestKey contains the labels of a request. Each value comes from a closed set (doc.go).
type requestKey struct {
	verb                                  string // as in kube-apiserver's metrics: GET, LIST, WATCH ...
	read                                  string // get, list, watch or other
	group, version, resource, subresource string
	scope                                 string
	code                                  int
	source                                observe.Source
	reason                                observe.Reason
}

func keyOf(e *observe.Event) requestKey {
	k := requestKey{read: readLabel(e), scope: scopeLabel(e), code: e.Code, source: e.Source, reason: e.Reason}
	k.verb = verbLabel(e, k.scope)
	switch {
	case e.Discovered:
		k.group, k.version, k.resource, k.subresource = e.Group, e.Version, e.Resource, e.Subresource
	case e.Scope == "":
		k.subresource = probeLabel(e)
	}
	if http.StatusText(k.code) == "" {
		k.code = 0
	}
	return k
}

const (
	verbGet     = "GET"
	verbList    = "LIST"
	verbWatch   = "WATCH"
	verbConnect = "CONNECT"
	verbOther   = "other"
)

// verbLabel returns the verb of a request in kube-apiserver's metrics. GET and HEAD of a collection are LIST. Reads
// that open a connection or a stream of bytes are CONNECT.
func verbLabel(e *observe.Event, scope string) string {
	if e.Scope != "" && connects(e.Subresource) {
		return verbConnect
	}
	switch e.Method {
	case http.MethodGet, http.MethodHead:
		switch {
		case e.Scope != "" && e.Verb == readWatch:
			return verbWatch
		case scope == scopeNamespace || scope == scopeCluster:
			return verbList
		}
		return verbGet
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return e.Method
	}
	return verbOther
}

func connects(subresource string) bool {
	switch subresource {
	case "log", "exec", "portforward", "attach", "proxy":
		return true
	}
	return false
}

const (
	scopeResource  = "resource"
	scopeNamespace = "namespace"
	scopeCluster   = "cluster"
)

// scopeLabel returns the scope of a request's path. The scope of a list or watch is the scope of the collection, even
// if a field selector selects one object.
func scopeLabel(e *observe.Event) string {
	switch {
	case e.Scope != scopeResource || e.Verb != readList && e.Verb != readWatch:
		return e.Scope
	case e.Namespace != "":
		return scopeNamespace
	}
	return scopeCluster
}

const (
	readGet   = "get"
	readList  = "list"
	readWatch = "watch"
	readOther = "other"
)

// readLabel returns "get", "list" or "watch" for reads of objects, and "other" for all other requests, such as requests
// for discovery documents, health or logs. The durations and sizes of other requests are not comparable to the
// durations and sizes of reads.
func readLabel(e *observe.Event) string {
	switch e.Verb {
	case readGet, readList, readWatch:
		if e.Method == http.MethodGet && e.Scope != "" && e.Subresource == "" {
			return e.Verb
		}
	}
	return readOther
}

// probeLabel returns the path of a health probe, or "". kube-apiserver uses this path also as the value of the label
// subresource.
func probeLabel(e *observe.Event) string {
	path, _, _ := strings.Cut(e.URI, "?")
	switch {
	case e.Source != observe.FromFacade:
		return ""
	case path == "/healthz", path == "/livez", path == "/readyz":
		return path
	}
	return ""
}

// codeLabel returns the label for a status code. Code 0 stands for no response and for codes unknown to HTTP.
func codeLabel(code int) string { return strconv.Itoa(code) }
