package frames

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// BenchmarkEvents sends one event to one of the watches that share a connection. It reports the CPU time of server and
// client together.
func BenchmarkEvents(b *testing.B) {
	const size = 1024
	for _, watches := range []int{1, 10, 100, 200} {
		for _, way := range []struct {
			name      string
			listen    func(net.Listener) net.Listener
			configure func(*http.Server) error
		}{
			{"as net/http does", func(l net.Listener) net.Listener { return l }, func(*http.Server) error { return nil }},
			{"streams with data", Listener, ConfigureServer},
		} {
			b.Run(fmt.Sprintf("%d watches/%s", watches, way.name), func(b *testing.B) {
				events := make([]chan []byte, watches)
				for i := range events {
					events[i] = make(chan []byte)
				}
				base, client := serve(b, way.listen, way.configure, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					i, _ := strconv.Atoi(r.URL.Query().Get("i"))
					control := http.NewResponseController(w)
					_ = control.Flush()
					for event := range events[i] {
						_, _ = w.Write(event)
						_ = control.Flush()
					}
				}))
				bodies := make([]io.ReadCloser, watches)
				for i := range bodies {
					response, err := client.Get(base + "?i=" + strconv.Itoa(i))
					if err != nil {
						b.Fatal(err)
					}
					bodies[i] = response.Body
				}
				event, received := make([]byte, size), make([]byte, size)
				began, n := cpu(), 0
				for b.Loop() {
					i := n * 7 % watches
					events[i] <- event
					if _, err := io.ReadFull(bodies[i], received); err != nil {
						b.Fatal(err)
					}
					n++
				}
				b.ReportMetric(float64(cpu()-began)/float64(n)/float64(time.Microsecond), "cpu-µs/op")
				for i := range bodies {
					close(events[i])
					_ = bodies[i].Close()
				}
			})
		}
	}
}
