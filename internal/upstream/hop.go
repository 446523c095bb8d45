package upstream

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
)

// UserAgent is what a facade calls itself where it asks on its own behalf; what it passes on has the client's.
const UserAgent = "listfacade"

const (
	// via is the header in which servers that pass requests on say that they did (RFC 9110, 7.6.3).
	via = "Via"
	// hopPrefix begins a facade's own element of it.
	hopPrefix = "1.1 listfacade-"
	// hopBytes tell facades apart, wherever they run.
	hopBytes = 8
	// MostHops is how many facades a request may have come through: more than anybody puts in a row.
	MostHops = 8
)

// Hop is how one facade is named on what it asks of its upstream, so that it recognizes a request of its own that comes
// back: its upstream is then the facade itself, or reads from it. The zero value names nobody. Immutable.
type Hop struct{ element string }

// NewHop is a name that no other facade has.
func NewHop() Hop {
	name := make([]byte, hopBytes)
	_, _ = rand.Read(name) // it never fails
	return Hop{element: hopPrefix + hex.EncodeToString(name)}
}

// Sees tells whether a request has come through this facade before, or through too many to believe that it has not.
func (h Hop) Sees(header http.Header) bool {
	hops := hopsIn(header)
	return len(hops) > MostHops || slices.Contains(hops, h.element)
}

// sign names the facade on a request, behind those that it came through; incoming is nil for the facade's own.
func (h Hop) sign(outgoing, incoming http.Header) {
	hops := hopsIn(incoming)
	if h.element != "" {
		hops = append(hops, h.element)
	}
	if len(hops) > 0 {
		outgoing.Set(via, strings.Join(hops, ", "))
	}
}

// hopsIn are the facades that a request came through, one more than there may be at the most. What other servers say of
// themselves is no facade's business.
func hopsIn(header http.Header) []string {
	var hops []string
	for _, value := range header.Values(via) {
		for element := range strings.SplitSeq(value, ",") {
			element = strings.TrimSpace(element)
			if isHop(element) && len(hops) <= MostHops {
				hops = append(hops, element)
			}
		}
	}
	return hops
}

func isHop(element string) bool {
	name, ok := strings.CutPrefix(element, hopPrefix)
	raw, err := hex.DecodeString(name)
	return ok && err == nil && len(raw) == hopBytes
}

// Config is a configuration whose clients name the facade, for those of the upstream that are not a Client.
func (h Hop) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return hopTransport{hop: h, next: next} })
	return config
}

var errLoop = errors.New("the kubeconfig's server is this listfacade itself, or reads from it")

type hopTransport struct {
	hop  Hop
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t hopTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	t.hop.sign(r.Header, nil)
	answer, err := t.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusLoopDetected { // client-go would not show the Status
		answer.Body.Close()
		return nil, errLoop
	}
	return answer, err
}

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper.
func (t hopTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
