package upstream

import (
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// discoveryLimit bounds one answer of discovery in bytes; ten thousand CRDs take less than a tenth of it.
const discoveryLimit = 64 << 20

// ForDiscovery returns a configuration for client-go's discovery, which reads an answer to its end, whatever that is:
// answers fail when they exceed 64 MiB.
func ForDiscovery(config *rest.Config, hop Hop) *rest.Config {
	bounded := hop.Config(config)
	bounded.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return boundTransport{next: next, limit: discoveryLimit}
	})
	return bounded
}

type boundTransport struct {
	next  http.RoundTripper
	limit int64
}

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper.
func (b boundTransport) WrappedRoundTripper() http.RoundTripper { return b.next }

// RoundTrip implements http.RoundTripper.
func (b boundTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = &boundBody{ReadCloser: response.Body, limit: b.limit, left: b.limit}
	}
	return response, err
}

type boundBody struct {
	io.ReadCloser
	limit, left int64
}

// Read implements io.Reader.
func (b *boundBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("the upstream's answer exceeds %d bytes", b.limit)
	}
	return n, err
}
