package handlers

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/internal/wire/protowire"
)

var (
	allEncodings = []wire.Encoding{jsonwire.Encoding{}, protowire.Encoding{}}
	allFormats   = newFormats(allEncodings, reflector.Offers)
	customThings = upstream.Resource{GVR: schema.GroupVersionResource{Group: "ex.io", Version: "v1", Resource: "things"}, Custom: true}
)

func asks(accept, query string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
	r.URL.RawQuery = query
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	return r
}

// The representations that the cache offers, and those that need the upstream (semantics 6.1, 6.2, 6.4, 6.5, 6.8).
func TestNegotiate(t *testing.T) {
	const (
		table   = "application/json;as=Table;v=v1;g=meta.k8s.io"
		beta    = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"
		partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
		list    = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
		proto   = "application/vnd.kubernetes.protobuf"
	)
	plain, binary, no := &media{encoding: jsonwire.Encoding{}}, &media{encoding: protowire.Encoding{}}, (*media)(nil)
	tabled := func(include wire.Include) *media {
		return &media{encoding: jsonwire.Encoding{}, transform: asTable, meta: wire.MetaV1, include: include}
	}
	for _, c := range []struct {
		verb, accept, query string
		want                *media // nil if the upstream must answer
	}{
		{verbList, "", "", plain},
		{verbList, "*/*", "", plain},
		{verbList, "application/json", "", plain},
		{verbList, "application/json;q=0.5,text/html", "", plain},
		{verbList, "application/*", "", no},
		{verbList, "text/html,application/*;q=0.1", "", no},
		{verbList, "text/html", "", no},
		{verbList, "application/yaml", "", &media{encoding: jsonwire.Encoding{}, conversion: inYAML}},
		{verbGet, "application/yaml", "pretty=1", &media{encoding: jsonwire.Encoding{}, conversion: inYAML}},
		{verbWatch, "application/yaml", "", no},
		{verbList, "application/yaml;q=0.1,application/json", "", plain},
		{verbList, proto, "", binary},
		{verbGet, proto, "pretty=1", binary},
		{verbWatch, proto, "", binary},
		{verbWatch, proto + ";stream=watch", "pretty=1", binary},
		{verbList, proto + ",application/json", "", binary},
		{verbList, "application/json," + proto, "", plain},
		{verbList, proto + ";as=Table;v=v1;g=meta.k8s.io", "", no},
		{verbList, proto + ";as=Table;v=v1;g=meta.k8s.io," + table, "", tabled(wire.IncludeMetadata)},
		{verbGet, proto + ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "", &media{encoding: protowire.Encoding{}, transform: asPartial, meta: wire.MetaV1}},
		{verbWatch, proto + ";as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io", "", &media{encoding: protowire.Encoding{}, transform: asPartial, meta: wire.MetaV1Beta1}},
		{verbList, "application/cbor", "", no},
		{verbList, "application/cbor,application/json", "", plain},
		{verbList, "application/json;stream=watch", "", plain},
		{verbWatch, "application/json;stream=watch", "", plain},
		{verbList, "application/json", "pretty=1", &media{encoding: jsonwire.Encoding{}, conversion: indented}},
		{verbGet, "application/json;pretty=1", "", &media{encoding: jsonwire.Encoding{}, conversion: indented}},
		{verbWatch, "application/json", "pretty=1", plain},
		{verbList, table, "", tabled(wire.IncludeMetadata)},
		{verbGet, table, "includeObject=Metadata", tabled(wire.IncludeMetadata)},
		{verbWatch, table, "includeObject=Object", tabled(wire.IncludeObject)},
		{verbList, table, "includeObject=None", tabled(wire.IncludeNone)},
		{verbList, table, "includeObject=none", no},
		{verbList, table + "," + beta + ",application/json", "", tabled(wire.IncludeMetadata)},
		{verbList, beta, "", &media{encoding: jsonwire.Encoding{}, transform: asTable, meta: wire.MetaV1Beta1, include: wire.IncludeMetadata}},
		{verbList, "application/json;as=Table;v=v2;g=meta.k8s.io", "", no},
		{verbList, "application/json;as=Table;v=v1;g=other.io", "", no},
		{verbList, "application/json;as=Chair;v=v1;g=meta.k8s.io", "", no},
		{verbGet, partial, "", &media{encoding: jsonwire.Encoding{}, transform: asPartial, meta: wire.MetaV1}},
		{verbWatch, partial, "", &media{encoding: jsonwire.Encoding{}, transform: asPartial, meta: wire.MetaV1}},
		{verbList, partial, "", no},
		{verbList, list, "", &media{encoding: jsonwire.Encoding{}, transform: asPartialList, meta: wire.MetaV1}},
		{verbGet, list, "", no},
		{verbWatch, list, "", no},
		{verbList, proto + ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io," + list, "", &media{encoding: protowire.Encoding{}, transform: asPartialList, meta: wire.MetaV1}},
	} {
		for custom, resource := range map[bool]upstream.Resource{false: configMaps, true: customThings} {
			want := c.want
			switch { // custom resources have no protobuf
			case custom && c.accept == proto+",application/json":
				want = plain
			case custom && want != nil && want.encoding == protowire.Encoding{}:
				want = no
			}
			got, ok := allFormats.negotiate(asks(c.accept, c.query), c.verb, resource)
			if ok != (want != nil) {
				t.Errorf("%s %q %s, custom %t: got the cache offering it: %t", c.verb, c.accept, c.query, custom, ok)
				continue
			}
			if want != nil {
				if diff := cmp.Diff(*want, got, cmp.AllowUnexported(media{})); diff != "" {
					t.Errorf("%s %q %s, custom %t: %s", c.verb, c.accept, c.query, custom, diff)
				}
			}
		}
	}
}

// No header of a client makes the process panic, and every representation was requested.
func FuzzNegotiate(f *testing.F) {
	for _, accept := range []string{
		"", "*/*", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=;v=;g=", ";;;", "a/b/c", "application/json;q=x", ",,,", "application/json;as=Table",
		"application/json;=;", "application/json; as = Table", "*/*;as=Table;v=v1;g=meta.k8s.io", "application/json;pretty", "\x00", "application/json;q=",
	} {
		f.Add(accept, "includeObject=Object&pretty=1", byte(0))
	}
	f.Fuzz(func(t *testing.T, accept, query string, choice byte) {
		verb := []string{verbGet, verbList, verbWatch}[choice%3]
		r := asks(accept, query)
		resource := configMaps
		if choice&4 != 0 {
			resource = customThings
		}
		m, ok := allFormats.negotiate(r, verb, resource)
		if ok && (m.transform == asPartialList) && verb != verbList || ok && m.transform == asPartial && verb == verbList {
			t.Errorf("%s of %q: got transformation %d", verb, accept, m.transform)
		}
		if ok && m.transform != asIs && m.meta == "" {
			t.Errorf("got a transformation without a version: %+v", m)
		}
		w := httptest.NewRecorder()
		newReply(w, r, zap.NewNop(), time.Minute).fail(badRequest("x"))
		if w.Code != http.StatusBadRequest || w.Body.Len() == 0 {
			t.Errorf("got %d for an error", w.Code)
		}
		if _, err := url.ParseQuery(query); err == nil && r.URL.Query().Get("includeObject") == "None" && ok && m.transform == asTable && m.include != wire.IncludeNone {
			t.Error("got rows with objects that were not requested")
		}
	})
}

// A request for a media type that the cache does not offer starts no lane, keeps none alive and waits for none.
func TestForwardedMediaTypesOpenNoLane(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		for _, target := range reads {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+target, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept", passedThrough)
			began := time.Now()
			response, err := f.client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusOK || time.Since(began) >= time.Second && !strings.Contains(target, "watch") {
				t.Errorf("%s: got %d after %s", target, response.StatusCode, time.Since(began))
			}
			if e := f.events.last(); e.Source != observe.FromUpstream || e.Reason != observe.MediaType {
				t.Errorf("%s: got source %s and reason %s", target, e.Source, e.Reason)
			}
		}
		if lanes := len(f.lanes.All()); lanes != 0 {
			t.Errorf("got %d lanes, want none", lanes)
		}
	})
}
