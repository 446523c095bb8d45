package replay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/listfacade/listfacade/handlers"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/selectors"
)

// recorded takes the place of kube-apiserver. It answers the requests that the handlers forward: documents, reviews,
// and requests that the lanes do not answer.
type recorded struct {
	documents *documents
	lanes     lanes
	reviews   serializer.CodecFactory
	handlers  http.Handler // handlers of the replay
}

var paths = &request.RequestInfoFactory{
	APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
}

// servicesPath is the path of APIServices. The handlers read APIServices to find the custom resources and the resources
// of other servers.
const servicesPath = "/apis/apiregistration.k8s.io/v1/apiservices"

// supportsSelector is the answer to a request that tests whether kube-apiserver applies a selector. It means yes. This
// is correct, because recorded.again passes forwarded requests to the replay's own handlers, which apply the selector.
var supportsSelector = map[string]any{"metadata": map[string]any{"shardInfo": map[string]any{}}}

// ServeHTTP implements http.Handler.
func (u *recorded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := r.Host == memoryAddress{}.String() // a forwarded request has forwardedHost
	switch {
	case r.Method == http.MethodPost:
		u.review(w, r)
	case handlers.IsDocument(r.URL.Path):
		u.document(w, r)
	case own && r.URL.Path == servicesPath:
		writeJSON(w, r, u.services())
	case own: // tests whether kube-apiserver supports a field selector or applies shard selectors
		writeJSON(w, r, supportsSelector)
	default:
		u.object(w, r)
	}
}

// document serves a recorded document, or plain discovery made from one.
func (u *recorded) document(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	accept := r.Header.Get("Accept")
	for _, d := range u.documents.find(path) {
		if accepts(accept, d.MediaType) {
			w.Header().Set("Content-Type", d.MediaType)
			_, _ = w.Write(d.Body)
			return
		}
	}
	root := "/apis"
	if path == "/api" || strings.HasPrefix(path, "/api/") {
		root = "/api"
	}
	found := u.documents.find(root)
	if len(found) == 0 || !strings.HasPrefix(path, root) || !strings.Contains(found[0].MediaType, aggregated) {
		refuse(w, r, absent(path))
		return
	}
	plain, err := plainDiscovery(path, found[0].Body)
	switch {
	case err != nil:
		refuse(w, r, apierrors.NewInternalError(err).ErrStatus)
	case plain == nil:
		refuse(w, r, absent(path))
	default:
		writeJSON(w, r, plain)
	}
}

// accepts reports whether an Accept header contains the kind and the version of a discovery document's media type, such
// as "v=v2". It returns true for documents of other media types.
func accepts(accept, mediaType string) bool {
	if !strings.Contains(mediaType, "as="+aggregated) {
		return true
	}
	if !strings.Contains(accept, "as="+aggregated) {
		return false
	}
	for parameter := range strings.SplitSeq(mediaType, ";") {
		if strings.HasPrefix(parameter, "v=") {
			return strings.Contains(accept+";", parameter+";") || strings.Contains(accept, parameter+",")
		}
	}
	return true
}

// services returns the APIServices of the recorded resources. The handlers treat all other group versions as those of
// other servers, and forward requests for them.
func (u *recorded) services() any {
	type object = map[string]any
	items, seen := []object{}, map[schema.GroupVersion]bool{}
	for key, lane := range u.lanes {
		gv := key.gvr.GroupVersion()
		if seen[gv] {
			continue
		}
		seen[gv] = true
		managed := "onstart"
		if lane.resource.Custom {
			managed = "true"
		}
		items = append(items, object{
			"metadata": object{"labels": object{"kube-aggregator.kubernetes.io/automanaged": managed}},
			"spec":     object{"group": gv.Group, "version": gv.Version},
		})
	}
	return object{"kind": "APIServiceList", "metadata": object{"resourceVersion": "1"}, "items": items}
}

func (u *recorded) object(w http.ResponseWriter, r *http.Request) {
	info, err := paths.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest {
		refuse(w, r, absent(r.URL.Path))
		return
	}
	gvr := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	encoding := u.lanes.encodingOf(gvr)
	query := r.URL.Query()
	invalid := invalidShards(info.Verb, query)
	switch {
	case encoding == "":
		refuse(w, r, absent(gvr.GroupResource().String()))
	case info.Subresource != "":
		refuse(w, r, absent(fmt.Sprintf("the subresource %s of %s", info.Subresource, gvr.GroupResource())))
	case !u.lanes[laneKey{gvr, jsonName}].hasContent():
		refuse(w, r, otherEncoding(gvr.GroupResource().String(), encoding))
	case prefersOther(r):
		u.again(w, r)
	case !acceptsJSON(r.Header.Get("Accept")):
		refuse(w, r, otherEncoding(gvr.GroupResource().String(), jsonName))
	case invalid != nil:
		refuse(w, r, invalidSelector(invalid))
	case query.Get("resourceVersion") != "" || query.Get("continue") != "":
		refuse(w, r, u.lanes[laneKey{gvr, jsonName}].outside(query.Get("resourceVersion")))
	default:
		refuse(w, r, absent("an answer in the requested representation"))
	}
}

// invalidShards returns the error of the shardSelector of a list or watch. The handlers leave syntax errors to the
// upstream, for kube-apiserver's exact words. In a replay, those requests arrive here.
func invalidShards(verb string, query url.Values) error {
	if verb == "get" {
		return nil // a get ignores the selector
	}
	_, err := selectors.ParseShards(query.Get("shardSelector"))
	return err
}

const jsonName = "json"

// prefersOther reports whether a client prefers a Table or another encoding, but also accepts plain JSON.
func prefersOther(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return accept != upstream.MediaJSON && acceptsJSON(accept)
}

func acceptsJSON(accept string) bool {
	for clause := range strings.SplitSeq(accept, ",") {
		media, parameters, _ := strings.Cut(strings.TrimSpace(clause), ";")
		plain := media == upstream.MediaJSON && !strings.Contains(parameters, "as=")
		if plain || media == "*/*" || media == "application/*" {
			return true
		}
	}
	return accept == ""
}

// again serves plain JSON to a client that prefers another representation, because the journal may lack that
// representation. The journal lacks protobuf of resources that were recorded in JSON, and Tables of some kinds and of
// converted objects.
func (u *recorded) again(w http.ResponseWriter, r *http.Request) {
	plain := r.Clone(r.Context())
	plain.Header.Set("Accept", upstream.MediaJSON)
	plain.Header.Del("Via")
	plain.Host = "localhost"
	query := plain.URL.Query()
	query.Del("includeObject")
	plain.URL.RawQuery = query.Encode()
	plain.RequestURI = plain.URL.RequestURI()
	u.handlers.ServeHTTP(w, plain)
}

func writeJSON(w http.ResponseWriter, r *http.Request, document any) {
	body, err := json.Marshal(document)
	if err != nil {
		refuse(w, r, apierrors.NewInternalError(err).ErrStatus)
		return
	}
	w.Header().Set("Content-Type", upstream.MediaJSON)
	_, _ = w.Write(append(body, '\n'))
}
