package handlers

import (
	"io"
	"net/http"
	"testing"

	"github.com/listfacade/listfacade/internal/auth"
)

// Each authorization that a forwarded watch obtains is released. The upstream answers a watch twice if the first answer
// is not a stream that a websocket can carry.
func TestForwardedWatchObtainsOneAuthorization(t *testing.T) {
	obtained := 0
	watch := &forwardedWatch{ctx: t.Context(), end: func() {}, over: make(chan struct{}), hold: func() *auth.WatchAuthorization {
		obtained++
		return &auth.WatchAuthorization{}
	}}
	read := watch.around(func(answer *http.Response) io.ReadCloser { return answer.Body })
	for _, code := range []int{http.StatusCreated, http.StatusOK} {
		_ = read(&http.Response{StatusCode: code, Body: http.NoBody}).Close()
	}
	watch.stop()
	if obtained != 1 {
		t.Errorf("got %d authorizations, of which stop releases one", obtained)
	}
}
