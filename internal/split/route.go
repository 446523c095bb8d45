package split

import (
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/listfacade/listfacade/handlers"
)

// Target is the server that answers a request.
type Target string

// The targets. Itself is the proxy.
const (
	KubeAPIServer Target = "kube-apiserver"
	Facade        Target = "facade"
	Itself        Target = "split"
)

// Reason says why a request has its target. It is a label in metrics.
type Reason string

// The reasons, in the order in which Decide considers them.
const (
	Malformed     Reason = "malformed"     // no path, or CONNECT: the proxy refuses the request
	Health        Reason = "health"        // the proxy's own health
	Upgrade       Reason = "upgrade"       // the client wants another protocol on the connection
	NotAGet       Reason = "not-a-get"     // a method other than GET
	Impersonation Reason = "impersonation" // the facade refuses impersonation
	Body          Reason = "body"          // a GET with a body
	Unclear       Reason = "unclear"       // a path that could be read in two ways
	Document      Reason = "document"      // discovery, OpenAPI and version
	Other         Reason = "other"         // a path that is not about a resource, or the deprecated verb proxy
	Subresource   Reason = "subresource"   // such as logs, status and scale
	ByRule        Reason = "rule"          // the rules name kube-apiserver
	Read          Reason = "read"          // GET, LIST and WATCH
)

// Decision is the result of Decide.
type Decision struct {
	Target Target
	Reason Reason
	// Watch means that the answer may be a stream without end: a watch or a log.
	Watch bool
	// Small means that the request costs kube-apiserver little, so kube-apiserver may answer it while no facade is ready.
	Small bool
}

// paths parses paths as kube-apiserver and the facade do.
var paths = &request.RequestInfoFactory{
	APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
}

var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// Decide selects the target of a request. It reads only the method, URL, headers and ContentLength of the request, and
// changes nothing. A request in doubt goes to kube-apiserver.
func (rules Rules) Decide(r *http.Request) Decision {
	switch {
	case !strings.HasPrefix(r.URL.Path, "/"), r.Method == http.MethodConnect:
		return Decision{Target: Itself, Reason: Malformed}
	case slices.Contains(healthPaths, r.URL.Path):
		return Decision{Target: Itself, Reason: Health}
	case upgrades(r.Header):
		return Decision{Target: KubeAPIServer, Reason: Upgrade}
	case r.Method != http.MethodGet:
		return Decision{Target: KubeAPIServer, Reason: NotAGet}
	case impersonates(r.Header):
		return Decision{Target: KubeAPIServer, Reason: Impersonation}
	case r.ContentLength != 0:
		return Decision{Target: KubeAPIServer, Reason: Body}
	case !isCanonical(r.URL.Path):
		return Decision{Target: KubeAPIServer, Reason: Unclear}
	case handlers.IsDocument(r.URL.Path):
		return Decision{Target: Facade, Reason: Document, Small: true}
	}
	info, err := paths.NewRequestInfo(r)
	if err != nil {
		return Decision{Target: KubeAPIServer, Reason: Unclear}
	}
	return rules.decideRead(r, info)
}

func (rules Rules) decideRead(r *http.Request, info *request.RequestInfo) Decision {
	d := Decision{Target: KubeAPIServer, Watch: info.Verb == "watch"}
	switch {
	case !info.IsResourceRequest, info.Verb != "get" && info.Verb != "list" && info.Verb != "watch":
		d.Reason = Other
	case info.Subresource != "":
		d.Reason = Subresource
		d.Watch = d.Watch || info.Subresource == "log" // a followed log may last as long as a watch
	case rules.names(info.APIGroup, info.Resource), rules.Gets == KubeAPIServer && info.Verb == "get":
		d.Reason = ByRule
	default:
		d.Target, d.Reason, d.Small = Facade, Read, isSmall(r, info)
	}
	return d
}

// maxSmallList is the largest limit of a list with a small answer. It is the default limit of kubectl and of client-go.
const maxSmallList = 500

// isSmall reports whether kube-apiserver can answer at little cost: single objects, lists with a small limit, and
// watches that begin with no objects. A list at resourceVersion 0 is not small: kube-apiserver may ignore its limit.
func isSmall(r *http.Request, info *request.RequestInfo) bool {
	if info.Verb == "get" || info.Name != "" {
		return true
	}
	query := r.URL.Query()
	version := query.Get("resourceVersion")
	if info.Verb == "list" {
		limit, err := strconv.ParseInt(query.Get("limit"), 10, 64)
		return err == nil && limit > 0 && limit <= maxSmallList && version != "0"
	}
	initial := query.Get("sendInitialEvents")
	return version != "" && version != "0" && (initial == "" || initial == "false")
}

// upgrades reports whether a client wants another protocol on the connection. One of the headers Upgrade and Connection
// is enough: kube-apiserver then refuses the incomplete request.
func upgrades(header http.Header) bool {
	return header.Get("Upgrade") != "" || strings.Contains(strings.ToLower(header.Get("Connection")), "upgrade")
}

// impersonates reports whether a request has any header with kube-apiserver's prefix for impersonation.
func impersonates(header http.Header) bool {
	for name := range header {
		if strings.HasPrefix(name, "Impersonate-") {
			return true
		}
	}
	return false
}

// isCanonical reports whether a path has no empty, "." or ".." segments, except an empty one at its end.
func isCanonical(p string) bool { return path.Clean(p) == strings.TrimSuffix(p, "/") || p == "/" }
