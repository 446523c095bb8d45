package split

import (
	"io"
	"net/http"
	"strconv"
	"testing"
)

// BenchmarkGet is a GET of an object with 15 kB through the proxy, with client and facade in the same process.
func BenchmarkGet(b *testing.B) {
	text := make([]byte, 15<<10)
	facade := startFake(b, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = w.Write(text)
	})
	run := start(b, startFake(b, nil), []*fake{facade})
	for _, way := range []struct{ name, url string }{{"direct", facade.URL}, {"split", run.url}} {
		b.Run(way.name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					answer, err := run.client.Get(way.url + "/api/v1/namespaces/a/pods/b") //nolint:noctx // ends with the server
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
				}
			})
		})
	}
}
