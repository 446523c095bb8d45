package manifest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// A denied review is an error, so that the error of a wait always has a cause.
func TestDeniedReviewIsAnError(t *testing.T) {
	for allowed, want := range map[bool]error{true: nil, false: errDenied} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":%t}}`, allowed)
		}))
		t.Cleanup(server.Close)
		client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		if err := may(t.Context(), client, new(authorizationv1.SelfSubjectAccessReview)); !errors.Is(err, want) {
			t.Errorf("allowed=%t: got %v, want %v", allowed, err, want)
		}
	}
}
