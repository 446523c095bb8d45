package handlers

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestViaWatchPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/api/v1/watch/pods":                            true,
		"/api/v1/watch/namespaces/a/pods":               true,
		"/api/v1/watch/namespaces/a/pods/x":             true,
		"/apis/apps/v1/watch/deployments":               true,
		"/apis/apps/v1/watch/namespaces/a/deployments/": true,
		"/api/v1/pods":                                  false,
		"/api/v1/namespaces/watch/pods":                 false,
		"/api/v1/namespaces/a/pods/watch":               false,
		"/apis/apps/v1/deployments":                     false,
		"/apis/apps/v1/namespaces/watch/deployments":    false,
		"/apis/watch/v1/things":                         false,
		"/apis/ex.io/watch/things":                      false,
		"/api/v1/pods?watch=1":                          false,
	} {
		info, err := paths.NewRequestInfo(httptest.NewRequest(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := viaWatchPath(info); got != want {
			t.Errorf("%s: got %t", path, got)
		}
	}
}

// The authorizer gets the same attributes as kube-apiserver's (semantics 1.1, 8.4).
func TestAttributes(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/pods":                      "list /v1/pods ns= name= f= l=",
		"/api/v1/namespaces/a/pods?watch=1": "watch /v1/pods ns=a name= f= l=",
		"/api/v1/namespaces/a/pods/x":       "get /v1/pods ns=a name=x f= l=",
		"/apis/apps/v1/namespaces/a/deployments?fieldSelector=metadata.name%3Dx": "list apps/v1/deployments ns=a name=x f=metadata.name=x l=",
		"/api/v1/pods?fieldSelector=metadata.namespace%3Da":                      "list /v1/pods ns= name= f=metadata.namespace=a l=",
		"/api/v1/pods?labelSelector=a%3Db,c":                                     "list /v1/pods ns= name= f= l=a=b,c",
		"/api/v1/pods?labelSelector=%3D%3D%3D&fieldSelector=%3F":                 "list /v1/pods ns= name= f= l=",
		"/api/v1/nodes?fieldSelector=metadata.name%3Dn&watch=true":               "watch /v1/nodes ns= name=n f=metadata.name=n l=",
		"/api/v1/namespaces/a":                                                   "get /v1/namespaces ns=a name=a f= l=",
		"/api/v1/pods?watch=false":                                               "list /v1/pods ns= name= f= l=",
		"/api/v1/pods?watch":                                                     "watch /v1/pods ns= name= f= l=",
	} {
		info, err := paths.NewRequestInfo(httptest.NewRequest(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		a := attributesOf(&Request{info: info})
		got := a.Verb + " " + a.Group + "/" + a.Version + "/" + a.Resource + " ns=" + a.Namespace + " name=" + a.Name + " f="
		for i, r := range a.Fields {
			if i > 0 {
				got += ","
			}
			got += r.Field + string(r.Operator) + r.Value
		}
		got += " l="
		for i, r := range a.Labels {
			if i > 0 {
				got += ","
			}
			got += r.String()
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", path, got, want)
		}
	}
}
