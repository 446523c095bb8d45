package suite

import (
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
)

// PatientTransport returns a transport to the server of a configuration, with its credentials. client-go's transport
// gives up a connection whose TLS handshake takes ten seconds, or whose server does not answer a ping for 15 seconds.
// On a busy machine, the requests of all its streams then fail, and informers list again.
func PatientTransport(t testing.TB, config *rest.Config) http.RoundTripper {
	t.Helper()
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tls, ForceAttemptHTTP2: true,
		DisableCompression: config.DisableCompression}
	t.Cleanup(transport.CloseIdleConnections)
	wrapped, err := rest.HTTPWrappersForConfig(config, transport)
	if err != nil {
		t.Fatal(err)
	}
	return wrapped
}
