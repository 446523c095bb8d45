package handlers

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/observe"
)

// BenchmarkPrice is what a GET from a warm cache pays for being counted and shown: the handlers without and with it.
func BenchmarkPrice(b *testing.B) {
	for _, counted := range []bool{false, true} {
		b.Run(fmt.Sprintf("counted=%t", counted), func(b *testing.B) {
			f := newBenched(b, func(c *Config) {
				c.Sink = observe.Sinks{}
				if counted {
					c.Inflight = new(observe.Inflight)
					c.Clients = accounting.NewClients(c.Inflight)
					c.Sink = c.Clients
				}
			})
			const target = "/api/v1/namespaces/ns/configmaps/7?resourceVersion=0"
			f.open(b, f.client(b), "/api/v1/configmaps?resourceVersion=0") // the lane is there
			r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, f.base+target, nil)
			if err != nil {
				b.Fatal(err)
			}
			r.ProtoMajor, r.RequestURI = 2, target
			b.ReportAllocs()
			for b.Loop() {
				r.Header = http.Header{"Accept": {"application/json"}, "User-Agent": {"bench"}}
				w := &blank{header: http.Header{}}
				f.handler.ServeHTTP(w, r)
				if w.bytes.Load() == 0 {
					b.Fatal("no answer")
				}
			}
		})
	}
}
