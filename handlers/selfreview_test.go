package handlers

import (
	"net/http"
	"net/url"
	"testing"
)

// Only reviews are accepted as POST requests, and they match the upstream's review paths.
func TestIsReview(t *testing.T) {
	const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	for path, want := range map[string]bool{
		reviews: true, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews": true, "/apis/authentication.k8s.io/v1/selfsubjectreviews": true,
		reviews + "/": false, reviews + "/a": false, "/apis/authorization.k8s.io/v1/subjectaccessreviews": true,
		"/apis/authorization.k8s.io/v1/namespaces/a/selfsubjectaccessreviews": false, "/api/v1/selfsubjectreviews": false,
		"/apis/authentication.k8s.io/v1/tokenreviews": true, "/apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews": false,
	} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodGet} {
			q := &Request{method: method, url: &url.URL{Path: path}}
			if got := isReview(q); got != (want && method == http.MethodPost) {
				t.Errorf("%s %s: got %t", method, path, got)
			}
		}
	}
}
