package handlers

import (
	"net/http"
	"testing"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/internal/wire/protowire"
)

// toyEncoding is JSON with another media type.
type toyEncoding struct{ jsonwire.Encoding }

const toyType = "application/toy"

// Name implements wire.Encoding.
func (toyEncoding) Name() string { return "toy" }

// MediaType implements wire.Encoding.
func (toyEncoding) MediaType() string { return toyType }

// StreamType implements wire.Encoding.
func (toyEncoding) StreamType() string { return toyType + ";stream=watch" }

// To add an encoding, nothing is needed but to add it to Config.Encodings.
func TestThirdEncodingIsServedWhenItIsConfigured(t *testing.T) {
	const object, list, watch = "/api/v1/namespaces/ns/configmaps/a?resourceVersion=0", "/api/v1/configmaps?resourceVersion=0", "/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion=0"
	for name, encodings := range map[string][]wire.Encoding{"without": allEncodings, "with": {jsonwire.Encoding{}, protowire.Encoding{}, toyEncoding{}}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *facade) {
				f.Put("ns/a", "1")
				for target, streams := range map[string]bool{object: false, list: false, watch: true} {
					_, want, err := f.tryFor(t, target, jsonwire.Encoding{}.MediaType())
					if err != nil {
						t.Fatal(err)
					}
					response, got, err := f.tryFor(t, target, toyType)
					if err != nil {
						t.Fatal(err)
					}
					e := f.events.last()
					if name == "without" {
						if e.Source != observe.FromUpstream || e.Reason != observe.MediaType {
							t.Errorf("%s: got source %s and reason %s, want the upstream's answer", target, e.Source, e.Reason)
						}
						continue
					}
					contentType := toyType
					if streams {
						contentType += ";stream=watch"
					}
					if e.Source != observe.FromCache || e.Encoding != "toy" || response.Header.Get("Content-Type") != contentType {
						t.Errorf("%s: got source %s, encoding %s, %s", target, e.Source, e.Encoding, response.Header.Get("Content-Type"))
					}
					if response.StatusCode != http.StatusOK || got != want || len(got) == 0 {
						t.Errorf("%s: got %d %q, want JSON's %q", target, response.StatusCode, got, want)
					}
				}
			}, func(c *Config) { c.Encodings = encodings })
		})
	}
}
