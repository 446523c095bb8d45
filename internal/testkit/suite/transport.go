package suite

import (
	"net"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// PatientTransport returns a transport to the server of a configuration, with its credentials. client-go's transport
// gives up a connection whose TLS handshake takes ten seconds, or whose server does not answer a ping for 15 seconds.
// On a busy machine, the requests of all its streams then fail, and informers list again. This transport waits for
// settings.Patience instead, so that a test with a vanished server still ends.
func PatientTransport(t testing.TB, config *rest.Config) http.RoundTripper {
	t.Helper()
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	patience := settings.Patience()
	transport := &http.Transport{
		TLSClientConfig: tls, ForceAttemptHTTP2: true, DisableCompression: config.DisableCompression,
		DialContext: (&net.Dialer{Timeout: patience}).DialContext, TLSHandshakeTimeout: patience,
		HTTP2: &http.HTTP2Config{SendPingTimeout: patience, PingTimeout: patience},
	}
	t.Cleanup(transport.CloseIdleConnections)
	wrapped, err := rest.HTTPWrappersForConfig(config, transport)
	if err != nil {
		t.Fatal(err)
	}
	return wrapped
}
