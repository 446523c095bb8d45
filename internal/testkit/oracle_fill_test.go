package testkit

import "testing"

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
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
