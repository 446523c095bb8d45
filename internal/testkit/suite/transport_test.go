package suite

import (
	"context"
	"net"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// A request to a server that accepts no connection any more fails after settings.Patience.
func TestPatientTransportGivesUpVanishedServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), settings.Patience())
	defer cancel()
	t.Setenv("LISTFACADE_PATIENCE", "0.0001")
	config := &rest.Config{Host: "https://" + listener.Addr().String(), TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := PatientTransport(t, config).RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	if err == nil || ctx.Err() != nil {
		t.Errorf("got %v, want an error of the transport", err)
	}
}
