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

// UserAgent is the User-Agent of the facade's own requests. Forwarded requests have the client's User-Agent.
const UserAgent = "listfacade"

const (
	// via is the header to which servers that forward requests add themselves (RFC 9110, 7.6.3).
	via       = "Via"
	hopPrefix = "1.1 listfacade-"
	hopBytes  = 8
	// MostHops is the maximum number of facades that a request may pass through, more than any real deployment has.
	MostHops = 8
)

// Hop is the name that a facade adds to the Via header of its requests. If the facade receives a request with its own
// name, its upstream is the facade itself, or reads from the facade. The zero value adds no name. Immutable.
type Hop struct{ element string }

// NewHop returns a random name, different from the names of other facades.
func NewHop() Hop {
	name := make([]byte, hopBytes)
	_, _ = rand.Read(name) // rand.Read never fails
	return Hop{element: hopPrefix + hex.EncodeToString(name)}
}

// Sees reports whether a request has passed through this facade, or through more than MostHops facades.
func (h Hop) Sees(header http.Header) bool {
	hops := hopsIn(header)
	return len(hops) > MostHops || slices.Contains(hops, h.element)
}

// Sign sets the Via header of an outgoing request: the facades in the header of the incoming request, then this facade.
// incoming is nil for the facade's own requests.
func (h Hop) Sign(outgoing, incoming http.Header) {
	hops := hopsIn(incoming)
	if h.element != "" {
		hops = append(hops, h.element)
	}
	if len(hops) > 0 {
		outgoing.Set(via, strings.Join(hops, ", "))
	}
}

// hopsIn returns the facades in a Via header, at most MostHops+1.
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

// Config returns a copy of config whose clients add the facade to the Via header. A Client adds the facade itself, so
// it does not need this copy.
func (h Hop) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return hopTransport{hop: h, next: next} })
	return config
}

var errLoop = errors.New("the upstream reports a loop of listfacades (508)")

type hopTransport struct {
	hop  Hop
	next http.RoundTripper
}

func (t hopTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	t.hop.Sign(r.Header, nil)
	answer, err := t.next.RoundTrip(r)
	// client-go would hide the Status, which contains the cause.
	if err == nil && answer.StatusCode == http.StatusLoopDetected {
		answer.Body.Close()
		return nil, errLoop
	}
	return answer, err
}

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper.
func (t hopTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
