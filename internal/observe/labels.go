package observe

import (
	"net/http"
	"strconv"
	"strings"
)

// requestKey is what the labels of a request's series say. Each of its values is one of a closed set: a method that
// kube-apiserver knows, a name that discovery knows, a code that HTTP knows; what a client makes up is no label.
type requestKey struct {
	verb                                  string // kube-apiserver's: GET, LIST, WATCH ...
	read                                  string // get, list, watch or other
	group, version, resource, subresource string
	scope                                 string
	code                                  int
	source                                Source
	reason                                Reason
}

func keyOf(e *Event) requestKey {
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

// Verbs as kube-apiserver's metrics have them.
const (
	verbGet     = "GET"
	verbList    = "LIST"
	verbWatch   = "WATCH"
	verbConnect = "CONNECT"
	verbOther   = "other"
)

// verbLabel is what kube-apiserver makes of a method: GET and HEAD of a collection are LIST, and reads that open a
// connection or a stream of bytes are CONNECT.
func verbLabel(e *Event, scope string) string {
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

// connects tells the subresources that are no reads of an object.
func connects(subresource string) bool {
	switch subresource {
	case "log", "exec", "portforward", "attach", "proxy":
		return true
	}
	return false
}

// Scopes of requests.
const (
	scopeResource  = "resource"
	scopeNamespace = "namespace"
	scopeCluster   = "cluster"
)

// scopeLabel is the scope that a path has. A list or a watch whose field selector names one object has a collection's
// path all the same.
func scopeLabel(e *Event) string {
	switch {
	case e.Scope != scopeResource || e.Verb != readList && e.Verb != readWatch:
		return e.Scope
	case e.Namespace != "":
		return scopeNamespace
	}
	return scopeCluster
}

// Reads of objects, as RequestInfo calls them.
const (
	readGet   = "get"
	readList  = "list"
	readWatch = "watch"
	readOther = "other"
)

// readLabel keeps the reads of objects apart; documents, health, logs and whatever else a path or a method may say are
// one value: their times and sizes have nothing in common with those of objects.
func readLabel(e *Event) string {
	switch e.Verb {
	case readGet, readList, readWatch:
		if e.Method == http.MethodGet && e.Scope != "" && e.Subresource == "" {
			return e.Verb
		}
	}
	return readOther
}

// probeLabel is the path of a probe, which is where kube-apiserver says that it was one.
func probeLabel(e *Event) string {
	path, _, _ := strings.Cut(e.URI, "?")
	switch {
	case e.Source != FromFacade:
		return ""
	case path == "/healthz", path == "/livez", path == "/readyz":
		return path
	}
	return ""
}

// codeLabel is a status code; 0 where none was sent, or none that HTTP knows.
func codeLabel(code int) string { return strconv.Itoa(code) }
