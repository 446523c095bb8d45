package handlers

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/listfacade/listfacade/internal/observe"
)

// The facade authorizes, serves and forwards the same request. Paths and queries have the same meaning for every
// reader, whatever their spelling.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		"/api/v1/pods?fieldSelector=spec.nodeName=n1&fieldSelector=", "/api/v1/pods?fieldSelector=&fieldSelector=spec.nodeName=n1",
		"/api/v1/pods?fieldselector=spec.nodeName=n1", "/api/v1/pods?fieldSelector=spec.nodeName=n1;limit=1",
		"/api/v1/namespaces/a/secrets?fieldSelector=metadata.name=s1&limit=abc", "/api/v1/secrets?fieldSelector=metadata.name=s1,metadata.namespace=a",
		"/api/v1/namespaces/a/secrets?fieldSelector=metadata.name=s1,metadata.name=s2", "/api/v1/watch/namespaces/a/secrets/s1",
		"/api/v1/watch/namespaces/a/secrets?fieldSelector=metadata.name=s1", "/api/v1/namespaces/a/secrets/s1?watch=true", "/api/v1/pods?watch=0",
		"//api/v1/pods", "/api/v1//pods", "/api/v1/namespaces/../pods", "/api/v1/namespaces/%2e%2e/pods", "/api/v1/namespaces/default%2Fpods",
		"/api/v1/%70ods", "/api/v1/pods%00", "/API/v1/pods", "/api/v1/pods/", "/api/v1/pods//", "/apis//v1/pods", "/apis/apps/v1/deployments/a/scale",
		"/api/v1/proxy/namespaces/a/pods/b", "/api/v1/pods?labelSelector=a%3Db&labelSelector=c", "/api/v1/pods?%zz=1&a=b", "/api/v1/namespaces/\xff/pods",
		"/api/v1/namespaces/a/pods/b/log?follow=true", "/api/v1/pods?fieldSelector=metadata.name%3Da%252Cb", "/version?timeout=1s", "/a%2f..%2fapi/v1/pods",
	} {
		f.Add(seed)
	}
	v := &resolver{timeout: time.Minute}
	f.Fuzz(func(t *testing.T, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || u.Host != "" {
			return // net/http refuses it
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL = u
		q, err := v.resolve(r, aboutResource, &observe.Event{})
		if err != nil || q.reason != "" {
			return
		}
		a := attributesOf(q)
		want, err := paths.NewRequestInfo(r)
		if err != nil {
			t.Fatalf("%q: got a request that only the facade accepts", target)
		}
		if a.Verb != "get" && (a.Verb != want.Verb || a.Namespace != want.Namespace || a.Name != want.Name || a.Resource != want.Resource) {
			t.Errorf("%q: got attributes %+v, want kube-apiserver's %+v", target, a, want)
		}
		if !isCanonical(q.url.Path) {
			return // never forwarded
		}
		passed := httptest.NewRequest(http.MethodGet, "/", nil)
		passed.URL = &url.URL{Path: q.url.Path, RawQuery: q.url.Query().Encode()} // as for the request to the upstream
		again, err := url.ParseRequestURI(passed.URL.RequestURI())
		if err != nil {
			t.Fatalf("%q: got %q, which is not a URL", target, passed.URL)
		}
		passed.URL = again
		got, err := paths.NewRequestInfo(passed)
		if err != nil {
			t.Fatalf("%q: got %q, which cannot be parsed: %v", target, again, err)
		}
		if diff := cmp.Diff(asked(want), asked(got)); diff != "" {
			t.Errorf("%q: got %q, which has another meaning (-request +forwarded):\n%s", target, again, diff)
		}
	})
}

// asked returns the parts of a RequestInfo by which the upstream authorizes and answers. The number of slashes at the
// end is ignored if it is reduced before forwarding (semantics 8.6).
func asked(info *request.RequestInfo) request.RequestInfo {
	of := *info
	of.Path = strings.TrimRight(of.Path, "/")
	if of.IsResourceRequest {
		of.Path = ""
	}
	return of
}

// The id of a request is the client's or a new one. Both may be logged, sent back and forwarded unchanged.
func FuzzAuditID(f *testing.F) {
	for _, seed := range []string{
		"", "a", "6c8f5d1e-3f43-4d2b-9f4f-0a4e7a1c8e11", strings.Repeat("a", 64), strings.Repeat("a", 65), "a b", "a\r\nX-Remote-User: admin",
		"a\x00", `a","level":"x`, "\xff", "\u0661", "../../a", "%0a", "a\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, asked string) {
		id := auditIDOf(http.Header{"Audit-Id": {asked}})
		if id == "" || len(id) > 64 {
			t.Errorf("%q: got %q, of %d bytes", asked, id, len(id))
		}
		for _, c := range []byte(id) {
			if c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
				t.Errorf("%q: got %q, which contains %q", asked, id, c)
			}
		}
		if _, err := uuid.Parse(id); err != nil && id != asked {
			t.Errorf("%q: got %q, want the client's id or a new one", asked, id)
		}
	})
}
