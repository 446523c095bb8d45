package split

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// requestOf returns a request like "GET /api/v1/pods?limit=1" with headers like "Upgrade: websocket".
func requestOf(t testing.TB, line string, headers ...string) *http.Request {
	t.Helper()
	method, target, _ := strings.Cut(line, " ")
	u, err := url.ParseRequestURI(target)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, "/", nil)
	r.URL, r.RequestURI = u, target
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// Each request has the expected target and reason. "small" answers may come from kube-apiserver without a facade.
func TestDecide(t *testing.T) {
	const pods = "GET /api/v1/namespaces/a/pods"
	for _, test := range []struct {
		line    string
		headers []string
		want    string
	}{
		{"GET /api/v1/pods", nil, "facade read"},
		{"GET /apis/apps/v1/deployments?labelSelector=a%3Db", nil, "facade read"},
		{"GET /apis/ex.io/v1/namespaces/a/widgets", nil, "facade read"},
		{"GET /api/v1/nodes/a", nil, "facade read small"},
		{pods + "/b", nil, "facade read small"},
		{pods + "?limit=500", nil, "facade read small"},
		{pods + "?limit=500&continue=abc", nil, "facade read small"},
		{pods + "?limit=501", nil, "facade read"},
		{pods + "?limit=0", nil, "facade read"},
		{pods + "?limit=-1", nil, "facade read"},
		{pods + "?limit=x", nil, "facade read"},
		{pods + "?limit=5&resourceVersion=0", nil, "facade read"}, // kube-apiserver may ignore the limit
		{pods + "?limit=5&resourceVersion=7", nil, "facade read small"},
		{pods + "?fieldSelector=metadata.name%3Db", nil, "facade read small"},
		{pods + "?watch=true", nil, "facade read watch"},
		{pods + "?watch=1&resourceVersion=0", nil, "facade read watch"},
		{pods + "?watch=1&resourceVersion=7", nil, "facade read watch small"},
		{pods + "?watch=1&resourceVersion=7&sendInitialEvents=true", nil, "facade read watch"},
		{pods + "?watch=1&resourceVersion=7&sendInitialEvents=false", nil, "facade read watch small"},
		{pods + "?watch=1&fieldSelector=metadata.name%3Db", nil, "facade read watch small"},
		{"GET /api/v1/watch/namespaces/a/pods?resourceVersion=7", nil, "facade read watch small"},
		{"GET /api", nil, "facade document small"},
		{"GET /apis", nil, "facade document small"},
		{"GET /apis/apps/v1", nil, "facade document small"},
		{"GET /openapi/v3/apis/apps/v1", nil, "facade document small"},
		{"GET /version", nil, "facade document small"},
		{"GET /healthz", nil, "split health"},
		{"POST /readyz", nil, "split health"},
		{"GET /readyz/etcd", nil, "kube-apiserver other"},
		{"GET /metrics", nil, "kube-apiserver other"},
		{"GET /logs/", nil, "kube-apiserver other"},
		{"GET /", nil, "kube-apiserver other"},
		{"GET /api/v1/secrets", nil, "kube-apiserver rule"},
		{"GET /api/v1/namespaces/a/secrets/b", nil, "kube-apiserver rule"},
		{"GET /api/v1/secrets?watch=true", nil, "kube-apiserver rule watch"},
		{"GET /apis/ex.io/v1/secrets", nil, "facade read"}, // another resource of this name
		{"GET /apis/coordination.k8s.io/v1/namespaces/a/leases/b", nil, "kube-apiserver rule"},
		{"GET /apis/metrics.k8s.io/v1beta1/nodes", nil, "kube-apiserver rule"},
		{"GET /apis/custom.metrics.k8s.io/v1beta2/nodes", nil, "kube-apiserver rule"},
		{"GET /apis/notmetrics.k8s.io/v1/nodes", nil, "facade read"},
		{pods + "/b/status", nil, "kube-apiserver subresource"},
		{pods + "/b/log?follow=true", nil, "kube-apiserver subresource watch"},
		{pods + "/b/proxy/x", nil, "kube-apiserver subresource"},
		{"GET /api/v1/proxy/namespaces/a/pods/b", nil, "kube-apiserver other"},
		{"POST " + pods[4:], nil, "kube-apiserver not-a-get"},
		{"PUT " + pods[4:] + "/b", nil, "kube-apiserver not-a-get"},
		{"PATCH " + pods[4:] + "/b", nil, "kube-apiserver not-a-get"},
		{"DELETE " + pods[4:] + "?watch=true", nil, "kube-apiserver not-a-get"},
		{"HEAD " + pods[4:], nil, "kube-apiserver not-a-get"},
		{"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", nil, "kube-apiserver not-a-get"},
		{pods + "/b/exec?command=ls", []string{"Connection: Upgrade", "Upgrade: SPDY/3.1"}, "kube-apiserver upgrade"},
		{pods + "?watch=true", []string{"Connection: upgrade", "Upgrade: websocket"}, "kube-apiserver upgrade"},
		{pods, []string{"Connection: keep-alive, Upgrade"}, "kube-apiserver upgrade"},
		{pods, []string{"Impersonate-User: amy"}, "kube-apiserver impersonation"},
		{pods, []string{"Impersonate-Extra-A: b"}, "kube-apiserver impersonation"},
		{"GET /api//v1/pods", nil, "kube-apiserver unclear"},
		{"GET /api/v1/../v1/pods", nil, "kube-apiserver unclear"},
		{"GET /api/v1/%2e%2e/pods", nil, "kube-apiserver unclear"},
		{"GET /api/v1/pods/", nil, "facade read"},
		{"CONNECT /api/v1/pods", nil, "split malformed"},
	} {
		if got := spelled(DefaultRules().Decide(requestOf(t, test.line, test.headers...))); got != test.want {
			t.Errorf("%s %q: got %s, want %s", test.line, test.headers, got, test.want)
		}
	}
}

// The module client/ sends the same requests to the same servers.
func TestDecideLikeClient(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "routing", "requests.txt"))
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		requests++
		request := words[1] + " " + words[2]
		if got := DefaultRules().Decide(requestOf(t, request)).Target; string(got) != words[0] {
			t.Errorf("%s: got %s, want %s", request, got, words[0])
		}
	}
	if requests < 30 {
		t.Errorf("got %d requests, want at least 30", requests)
	}
}

func spelled(d Decision) string {
	text := string(d.Target) + " " + string(d.Reason)
	if d.Watch {
		text += " watch"
	}
	if d.Small {
		text += " small"
	}
	return text
}

// A GET with a body, also of unknown length, could not be sent to a second facade.
func TestBodiesGoToKubeAPIServer(t *testing.T) {
	for _, length := range []int64{1, -1} {
		r := requestOf(t, "GET /api/v1/pods")
		r.ContentLength = length
		if got := spelled(DefaultRules().Decide(r)); got != "kube-apiserver body" {
			t.Errorf("length %d: got %s", length, got)
		}
	}
}

// OPTIONS * has no path.
func TestRequestsWithoutPathAreRefused(t *testing.T) {
	r := requestOf(t, "OPTIONS /")
	r.URL.Path = "*"
	if got := spelled(DefaultRules().Decide(r)); got != "split malformed" {
		t.Errorf("got %s", got)
	}
}

// Rules decide which reads kube-apiserver answers.
func TestRulesDecide(t *testing.T) {
	rules, err := parseRules([]byte(`{apiVersion: config.listfacade/v1alpha1, kind: SplitRules, gets: kube-apiserver,
kubeAPIServerResources: [events, deployments.apps], kubeAPIServerGroups: ["*.ex.io", batch]}`))
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"GET /api/v1/namespaces/a/pods/b":            "kube-apiserver rule",
		"GET /api/v1/namespaces/a/pods":              "facade read",
		"GET /api/v1/events":                         "kube-apiserver rule",
		"GET /apis/events.k8s.io/v1/events":          "facade read",
		"GET /apis/apps/v1/deployments":              "kube-apiserver rule",
		"GET /apis/batch/v1/jobs?watch=true":         "kube-apiserver rule watch",
		"GET /apis/a.ex.io/v1/widgets":               "kube-apiserver rule",
		"GET /apis/ex.io/v1/widgets":                 "facade read",
		"GET /api/v1/secrets":                        "facade read", // the key replaces its default
		"GET /apis/coordination.k8s.io/v1/leases":    "facade read",
		"GET /apis/external.metrics.k8s.io/v1/nodes": "facade read",
	} {
		if got := spelled(rules.Decide(requestOf(t, line))); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}

// Each error names the key and what it must be.
func TestWrongRulesAreRefused(t *testing.T) {
	const begin = "apiVersion: config.listfacade/v1alpha1\nkind: SplitRules\n"
	for text, want := range map[string]string{
		begin + "get: facade":                    `get: unknown key; the keys are gets, kubeAPIServerResources and kubeAPIServerGroups: correct it or remove it`,
		begin + "gets: cache":                    "gets: value must be facade or kube-apiserver",
		begin + "gets: split":                    "gets: value must be facade or kube-apiserver",
		begin + "gets: facade\ngets: facade":     `key "gets" already set`,
		begin + "kubeAPIServerResources: pods":   "kubeAPIServerResources: value must be a list of resources",
		begin + "kubeAPIServerResources: [Pods]": `kubeAPIServerResources: "Pods": value must be a list of resources`,
		begin + "kubeAPIServerGroups: ['a.*']":   `kubeAPIServerGroups: "a.*": value must be a list of API groups`,
		begin + "kubeAPIServerGroups: ['']":      `kubeAPIServerGroups: "": value must be a list of API groups`,
		"gets: facade":                           `got apiVersion "" and kind "", want config.listfacade/v1alpha1 and SplitRules`,
		"[]":                                     "content must be a YAML mapping",
		begin + "kubeAPIServerResources: {a: b":  "did not find expected",
	} {
		if _, err := parseRules([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// Whatever a client sends, a write, an upgrade and an impersonation never go to a facade. Only what goes to a facade
// can be small.
func FuzzDecide(f *testing.F) {
	for _, seed := range []string{
		"/api/v1/pods?watch=true&resourceVersion=1", "/apis/apps/v1/namespaces/a/deployments/b", "/api/v1/secrets", "/version", "//", "/%2e%2e/api",
	} {
		f.Add("GET", seed, "", "")
		f.Add("POST", seed, "Impersonate-User", "amy")
		f.Add("GET", seed, "Upgrade", "websocket")
	}
	f.Fuzz(func(t *testing.T, method, target, name, value string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			t.Skip()
		}
		r := &http.Request{Method: method, URL: u, Header: http.Header{}}
		r.Header.Set(name, value)
		d := DefaultRules().Decide(r)
		mustNot := method != http.MethodGet || r.Header.Get("Upgrade") != "" || impersonates(r.Header)
		if d.Target == Facade && mustNot {
			t.Errorf("%s %s (%s: %s): got %+v", method, target, name, value, d)
		}
		if d.Target != Facade && d.Small || d.Reason == "" || d.Target == "" {
			t.Errorf("%s %s: got %+v", method, target, d)
		}
		if again := DefaultRules().Decide(r); again != d {
			t.Errorf("%s %s: got %+v, then %+v", method, target, d, again)
		}
	})
}
