package handlers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// A response to a client that reads slowly breaks off at the request's timeout, whatever its source. The State that it
// reads can then be released.
func TestSlowReadersAreCutOffAtTimeout(t *testing.T) {
	const size = 2 << 20
	for name, target := range map[string]string{
		"the cache": reads[0], "the upstream": "/api/v1/namespaces/ns/configmaps/a/status", "a document": "/openapi/v2",
	} {
		for _, version := range []int{1, 2} {
			for limit, timeout := range map[time.Duration]string{time.Minute: "", 40 * time.Second: "timeout=40s"} {
				t.Run(fmt.Sprintf("%s in HTTP/%d within %s", name, version, limit), func(t *testing.T) {
					if version == 1 == (timeout == "") {
						settings.Long(t) // a short run has one test of each version and limit
					}
					inBubble(t, func(t *testing.T, f *facade) {
						for i := range 20 {
							f.Put(fmt.Sprint("ns/", i), strings.Repeat("x", size/20))
						}
						whole := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("x"), size)) }
						f.Script("/openapi/v2", whole)
						f.Script("/api/v1/namespaces/ns/configmaps/a/status", whole)
						f.get(t, reads[0])
						if version == 2 {
							f.client = f.http2
						}
						separator := "?"
						if strings.Contains(target, "?") {
							separator = "&"
						}
						f.breaksOff(t, target+separator+timeout, limit)
					})
				})
			}
		}
	}
}

// breaksOff reads 8 KiB each second until the response breaks off. Each piece is accepted in time.
func (f *facade) breaksOff(t *testing.T, target string, limit time.Duration) {
	t.Helper()
	began := time.Now()
	response := f.ask(t, target, "application/json")
	_, err := io.CopyN(io.Discard, response.Body, 256<<10)
	for err == nil {
		<-time.After(time.Second)
		_, err = io.CopyN(io.Discard, response.Body, 8<<10)
	}
	if took := time.Since(began); errors.Is(err, io.EOF) || took < limit || took > limit+10*time.Second {
		t.Errorf("%s: got %v after %s", target, err, took)
	}
	if event := f.events.last(); event.Code != http.StatusOK || event.Took != limit {
		t.Errorf("%s: got %d, ended after %s", target, event.Code, event.Took)
	}
}

// The end of a response, which net/http sends after its handler has returned, does not wait without limit either.
func TestClientThatDoesNotReadIsCutOff(t *testing.T) {
	for _, target := range []string{"/healthz", "/api/v1/namespaces/ns/configmaps/none?resourceVersion=0", "/api/v1/namespaces/ns/configmaps/a?resourceVersion=0"} {
		inBubble(t, func(t *testing.T, f *facade) {
			f.Put("ns/a", "1")
			f.get(t, reads[0])
			conn, err := f.client.Transport.(*http.Transport).DialContext(t.Context(), "tcp", "")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: facade.test\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			<-time.After(2 * time.Minute)
			if response, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				t.Errorf("%s: got %d, which is still being sent", target, response.StatusCode)
				_ = response.Body.Close()
			}
		})
	}
}

// The deadline of a response does not apply to the next response on the connection.
func TestNextResponseHasItsOwnDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		for range 3 {
			f.get(t, reads[0])
			<-time.After(5 * time.Minute)
			if response, body := f.get(t, "/api/v1/configmaps?watch=1&resourceVersion=0&timeoutSeconds=300"); response.StatusCode != http.StatusOK || !strings.Contains(body, "ADDED") {
				t.Errorf("got %d %q", response.StatusCode, body)
			}
		}
	})
}
