package upstream

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The header sent instead of a client's Accept has the same response. Where that is not certain, the representation is
// odd.
func TestDocumentAccept(t *testing.T) {
	const (
		v2      = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		v2beta1 = ";g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
		table   = ";g=meta.k8s.io;v=v1;as=Table"
		json    = "application/json"
		yaml    = "application/yaml"
		pb      = "application/vnd.kubernetes.protobuf"
		openV2  = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
		openV3  = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
		odd     = ""
	)
	for _, c := range []struct{ path, accept, want string }{
		{"/apis", "", json}, {"/apis", json, json}, {"/apis", " " + json + " ; q=0.1", json}, {"/apis", "*/*", json}, {"/apis", json + ";charset=utf-8", json},
		{"/apis", yaml + ",*/*", yaml}, {"/apis", yaml + ";q=0.2, " + json + ";q=0.3", json}, {"/apis", "*/*," + yaml + ";q=0.1", yaml}, {"/apis/apps", pb + "," + json, pb},
		{"/apis", "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7", json},
		{"/apis", json + ";x=y", json}, {"/apis", json + ";stream=watch", json}, {"/apis", json + ";stream=x," + yaml, yaml}, {"/apis", "application/*," + yaml, yaml},
		{"/apis", yaml + ";stream=watch,application/*", json}, {"/api/v1", json + table + "," + json, json}, {"/api/v1", json + ";pretty=1", json + " pretty"},
		{"/apis", json + ";sv=v1," + yaml, yaml},
		{"/apis", "text/html", mediaForeign}, {"/apis", json + table, mediaForeign}, {"/apis/apps", json + v2, mediaForeign}, {"/apis", "json, junk", mediaNothing},
		{"/apis", json + v2 + "," + json + v2beta1 + "," + json, json + v2 + "," + json + v2beta1 + "," + json},
		{"/apis", json + "," + json + v2beta1 + "," + json + v2 + "," + json + v2, json + v2beta1 + "," + json + v2 + "," + json},
		{"/api/", pb + v2, pb + v2}, {"/api", json + v2 + ",*/*", json + v2 + "," + json}, {"/apis/apps", json + v2 + "," + json, json},
		{"/apis", json + v2 + ";pretty=1", json + v2 + " pretty"}, {"/apis", "*/*" + v2, json + v2}, {"/apis", yaml + v2, yaml + v2},
		{"/apis", json + v2 + "," + pb + v2, json + v2}, {"/apis", json + v2 + "," + pb + v2beta1, odd}, {"/apis", json + v2 + "," + yaml, odd},
		{"/apis", json + v2 + ";profile=nopeer," + json, json + v2 + ";profile=nopeer," + json}, {"/apis", json + v2 + ";profile=x", odd}, {"/apis", json + v2 + ";pretty=1," + json, odd},
		{"/apis", "*", mediaAny}, {"/apis", "application/*", mediaAny}, {"/apis", "application/*" + v2, odd}, {"/apis", "application/*;pretty=1", mediaAny + " pretty"},
		{"/apis", "application/cbor," + json, odd}, {"/openapi/v2", "application/cbor", mediaForeign}, {"/version", "application/cbor,*/*", json},
		{"/apis", json + strings.Repeat(",*/*", 14), json}, {"/openapi/v2", json + strings.Repeat(",*/*", 14), json},
		{"/version", "", json}, {"/version", "application/x;y=z, " + json, json}, {"/version/", "*/*", json}, {"/version", yaml, mediaForeign}, {"/version", yaml + "," + json, json},
		{"/version", "*", mediaForeign},
		{"/openapi/v2", json, json}, {"/openapi/v2", openV2 + "," + json, openV2}, {"/openapi/v2", openV3 + "," + json, json}, {"/openapi/v3", openV3, openV3},
		{"/openapi/v3/apis/apps/v1", openV3 + ";q=0.5," + json + ";q=0.4", openV3}, {"/openapi/v2", yaml + ",*/*", json}, {"/openapi/v2", yaml, mediaForeign},
		{"/openapi/v2", json + v2 + "," + openV2, json}, {"/openapi/v2", "application/*", json}, {"/openapi/v2", "*/json", json}, {"/openapi/v3/version", "x", mediaNothing},
		{"/openapi/v2", "application/com.github.proto-openapi.spec.v2.v9+protobuf", mediaForeign},
	} {
		a, certain := documentAccept(c.path, c.accept)
		got := a.header
		if a.pretty {
			got += " pretty"
		}
		if certain != (c.want != odd) || certain && got != c.want {
			t.Errorf("%s with %q: got %q, certain %t, want %q", c.path, c.accept, got, certain, c.want)
		}
		if again, still := documentAccept(c.path, a.header); certain && (again.header != a.header || !still) {
			t.Errorf("%q is sent, which is read as %q", a.header, again.header)
		}
	}
}

func TestDocumentEncoding(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "identity": "", "gzip": "gzip", " gzip ,br": "gzip", "br, deflate;q=0.5, gzip": "gzip", "gzip, gzip;q=0.5": "gzip", "*": "", "br;q=1": "",
		"gzip;q=1": "gzip;q=1", "gzip; q=0.001": "gzip;q=1", "GZIP": "gzip;q=1", "gzip;q=0": "", "gzip;q=0.000": "", "gzip;q=0, gzip": "gzip",
		"gzip, gzip;q=0": "gzip, gzip;q=0", "gzip;x=1": "gzip;q=1", "gzip;q=2": "gzip;q=1", "gzip;q =0": "gzip;q=1", "gzip;q=0;x": "gzip;q=1", "gz/ip": "",
		",gzip": "gzip", "gzip;q=x": "", "gzip;q=1, GZIP;q=0": "", "gzip, GZIP;q=x": "gzip",
	} {
		if got := documentEncoding(header); got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
		if again := documentEncoding(want); again != want {
			t.Errorf("%q is sent, which is read as %q", want, again)
		}
	}
}

func TestDocumentIsIndented(t *testing.T) {
	for _, c := range []struct {
		path, pretty, agent string
		want                bool
	}{
		{"/apis", "", "kubectl/v1.37.1", false}, {"/apis", "", "curl/8", true}, {"/apis", "", "Wget", true}, {"/apis", "", "Mozilla/5.0 (X11)", true},
		{"/apis", "", "Mozilla/4.0", false}, {"/apis", "", "Curl", false}, {"/apis", "1", "", true}, {"/apis", "false", "curl/8", false},
		{"/apis", "junk", "curl/8", false}, {"/version", "true", "curl/8", false}, {"/openapi/v2", "true", "curl/8", false},
	} {
		query := url.Values{"pretty": {c.pretty}}
		if got := representationOf(c.path, query, http.Header{"User-Agent": {c.agent}}).indented; got != c.want {
			t.Errorf("%s?pretty=%s of %s: got %t", c.path, c.pretty, c.agent, got)
		}
	}
}
