package faults

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// When a facade shuts down, its watches end cleanly, also those that it forwards. A client resumes a watch that ended
// cleanly. After a broken connection it lists again.
func TestDrainEndsWatches(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	s.Put(t, suite.ConfigMaps, "o", "", "1")
	run := suite.StartFacade(t, suite.Cluster(t))
	watches := map[string]*http.Response{}
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		client := run.HTTP1Client(t)
		if protocol == "HTTP/2.0" {
			client = run.HTTP2Client(t)
		}
		for accept, collection := range map[string]string{
			runtime.ContentTypeJSON: suite.Collection(suite.ConfigMaps, s.Namespace), runtime.ContentTypeProtobuf: suite.Collection(suite.ConfigMaps, s.Namespace),
			runtime.ContentTypeJSON + ";stream=watch": "/api/v1/secrets", // forwarded
		} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, run.URL+collection+
				"?watch=1&sendInitialEvents=1&allowWatchBookmarks=1&resourceVersionMatch=NotOlderThan", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept", accept)
			request.Header.Set("Accept-Encoding", "identity")
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK || response.Proto != protocol {
				t.Fatalf("%s %s", response.Proto, response.Status)
			}
			if _, err := io.ReadFull(response.Body, make([]byte, 1)); err != nil { // it has begun
				t.Fatal(err)
			}
			watches[fmt.Sprintf("%s as %s", protocol, accept)] = response
		}
	}
	run.Close(t)
	for name, response := range watches {
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
