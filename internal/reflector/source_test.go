package reflector

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/upstream"
)

// A throttled request returns the time that the upstream names.
func TestThrottledSource(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3")
		http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
	}))
	defer server.Close()
	client, err := upstream.NewClient(&rest.Config{Host: server.URL}, upstream.Hop{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdle()
	_, err = source{client, uncached}.ResourceVersion(t.Context())
	var throttled *fresh.ThrottledError
	if !errors.As(err, &throttled) || throttled.After != 3*time.Second || !upstream.HasCode(err, http.StatusTooManyRequests) {
		t.Errorf("got %v, want a ThrottledError", err)
	}
}

func TestReadRoll(t *testing.T) {
	call, err := readRoll([]byte(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[` +
		`{"kind":"PartialObjectMetadata","metadata":{"name":"a","namespace":"ns","resourceVersion":"7"}},{"metadata":{"name":"n","resourceVersion":"8"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]cache.RV{"ns/a": 7, "n": 8}, call.Versions); call.RV != 9 || diff != "" {
		t.Errorf("got version %d and %s", call.RV, diff)
	}
	for _, body := range []string{
		``, `[]`, `{}`, `{"metadata":{"resourceVersion":"0"},"items":[]}`, `{"metadata":{"resourceVersion":"x"}}`,
		`{"metadata":{"resourceVersion":"9","continue":"more"},"items":[]}`, `{"metadata":{"resourceVersion":"9"},"items":[{}]}`,
	} {
		if _, err := readRoll([]byte(body)); err == nil {
			t.Errorf("got no error for %s", body)
		}
	}
}
