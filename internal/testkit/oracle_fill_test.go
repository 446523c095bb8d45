package testkit

import (
	"encoding/base64"
	"testing"
)

func TestListPath(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/pods?limit=1":                                   "/api/v1/pods",
		"/api/v1/namespaces/oracle/pods/alpha?x":                 "/api/v1/namespaces/oracle/pods/alpha",
		"/api/v1/watch/namespaces/oracle/pods/alpha?watch=1":     "/api/v1/namespaces/oracle/pods",
		"/api/v1/watch/namespaces/oracle":                        "/api/v1/namespaces",
		"/apis/ex.io/v1/watch/widgets?watch=maybe":               "/apis/ex.io/v1/widgets",
		"/apis/ex.io/v1/namespaces/oracle/widgets?watch&limit=1": "/apis/ex.io/v1/namespaces/oracle/widgets",
	} {
		if got := (Question{Path: path}).listPath(); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestForgeries(t *testing.T) {
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":7,"start":"/a\u0000"}`))
	for blank, want := range map[string]string{
		blankLatestToken:  `{"v":"meta.k8s.io/v1","rv":-1,"start":"/a\u0000"}`,
		blankFutureToken:  `{"v":"meta.k8s.io/v1","rv":999999999999,"start":"/a\u0000"}`,
		blankMovedToken:   `{"v":"meta.k8s.io/v1","rv":7,"start":"/b\u0000"}`,
		blankOutsideToken: `{"v":"meta.k8s.io/v1","rv":7,"start":"../../x"}`,
	} {
		got, err := base64.RawURLEncoding.DecodeString(forgeries[blank](token))
		if string(got) != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", blank, got, err, want)
		}
	}
	for blank, forge := range forgeries {
		if got := forge(""); got != "" {
			t.Errorf("%s of an empty token: got %q", blank, got)
		}
	}
}
