package upstream

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pass sends a request, as text, over a separate connection to a server that forwards it, and returns the response. The
// error is that of reading the response's body.
func pass(t *testing.T, r *rig, request string) (*http.Response, string, error) {
	t.Helper()
	return passAs(t, r, AsKubeconfig(), request)
}

// passAs is pass with the given credentials.
func passAs(t *testing.T, r *rig, as Credentials, request string) (*http.Response, string, error) {
	t.Helper()
	passThrough := NewPassThrough(r.client)
	ours, theirs := net.Pipe()
	defer func() { _ = ours.Close() }()
	listener := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	listener.conn <- theirs
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if err := passThrough.Serve(w, q, as, nil); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	})}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	defer func() { _ = server.Close(); <-served }()
	go func() { _, _ = io.WriteString(ours, request) }()
	response, err := http.ReadResponse(bufio.NewReader(ours), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conn:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error   { close(l.closed); return nil }
func (l *oneConn) Addr() net.Addr { return &net.IPAddr{} }

// Every forwarded request has the facade's credentials and is a read.
func TestPassThroughRequestHeaders(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		var seen http.Header
		var details []any
		r.Script("/x", func(_ http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			seen, details = q.Header, []any{q.Host, len(q.TransferEncoding), len(q.Trailer), string(body)}
		})
		_, _, err := pass(t, r, strings.Join([]string{
			"GET /x HTTP/1.1", "Host: evil.example",
			"Accept: application/json", "Accept: text/html", "Accept-Encoding: gzip", "User-Agent: kubectl/1", "If-None-Match: \"x\"", "Audit-Id: abc",
			"Range: bytes=0-1", "If-Range: y", "If-Modified-Since: z",
			"Authorization: Bearer stolen", "Proxy-Authorization: Basic x", "Cookie: a=b", "Impersonate-User: admin", "Impersonate-Group: system:masters",
			"Impersonate-Extra-Scopes: x", "Impersonate-Uid: 1", "X-Remote-User: admin", "X-Remote-Group: system:masters", "X-Remote-Extra-A: b", "X-Remote-Uid: 1",
			"X-Forwarded-For: 1.2.3.4", "Forwarded: for=1.2.3.4", "X-Forwarded-Host: a", "X-Real-Ip: 1.2.3.4", "Via: 1.1 x", "Te: trailers",
			"Connection: Upgrade, Authorization, Accept", "Upgrade: websocket", "Sec-Websocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-Websocket-Version: 13",
			"Keep-Alive: 300", "X-Http-Method-Override: DELETE", "Origin: https://evil.example", "Content-Type: application/json",
			"Trailer: Authorization", "Transfer-Encoding: chunked", "", "3", "abc", "0", "Authorization: late", "", "",
		}, "\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		want := http.Header{
			"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "User-Agent": {"kubectl/1"}, "If-None-Match": {`"x"`}, "Audit-Id": {"abc"},
			"Range": {"bytes=0-1"}, "If-Range": {"y"}, "If-Modified-Since": {"z"},
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]any{"upstream.test", 0, 0, ""}, details); diff != "" {
			t.Error(diff)
		}
	})
}

// No header is added that the client did not send.
func TestPassThroughAddsNoHeaders(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		if _, _, err := pass(t, r, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(http.Header{}, r.Requests("/x")[0].Header); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPassThroughResponseHeaders(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Script("/x", func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range map[string]string{
				"Audit-Id": "1", "Warning": "299 - \"x\"", "X-Kubernetes-Pf-Flowschema-Uid": "f", "Etag": "e", "Content-Type": "application/json",
				"Set-Cookie": "a=b", "Alt-Svc": "h3=\":443\"", "Strict-Transport-Security": "max-age=1", "Keep-Alive": "timeout=5",
				"Proxy-Authenticate": "Basic", "Www-Authenticate": "Basic", "Clear-Site-Data": "*", "Refresh": "0", "Access-Control-Allow-Origin": "*",
				"Location": "https://evil.example", "Connection": "Etag-Too", "Etag-Too": "x", "Retry-After": "7", "Vary": "Accept",
			} {
				w.Header().Set(name, value)
			}
			w.Header().Set("Date", "now")
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "body")
		})
		response, body, err := pass(t, r, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
		if response.StatusCode != http.StatusTeapot || body != "body" || err != nil {
			t.Errorf("got %d %q %v", response.StatusCode, body, err)
		}
		want := http.Header{
			"Audit-Id": {"1"}, "Warning": {"299 - \"x\""}, "X-Kubernetes-Pf-Flowschema-Uid": {"f"}, "Etag": {"e"}, "Content-Type": {"application/json"},
			"Date": {"now"}, "Content-Length": {"4"}, "Retry-After": {"7"}, "Vary": {"Accept"},
		}
		if diff := cmp.Diff(want, response.Header); diff != "" {
			t.Error(diff)
		}
	})
}

// The upstream receives the parameters that the facade parsed.
func TestPassThroughQuery(t *testing.T) {
	for sent, want := range map[string]string{
		"/x":                     "",
		"/x?b=2&a=1&b=1":         "a=1&b=2&b=1",
		"/x?a=1;b=2&c=3":         "c=3",
		"/x?a=%zz&c=3":           "c=3",
		"/x?watch":               "watch=",
		"/x?a=%26b%3D1&c=d+e%20": "a=%26b%3D1&c=d+e+",
		"/x?limit=1&limit=2":     "limit=1&limit=2",
	} {
		inBubble(t, configMaps, func(t *testing.T, r *rig) {
			if _, _, err := pass(t, r, "GET "+sent+" HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if got := r.Requests("/x")[0].URL.RawQuery; got != want {
				t.Errorf("%s: the upstream got %q, want %q", sent, got, want)
			}
		})
	}
}

// A path is sent in one spelling, whichever the client used, so that both servers parse it alike.
func TestPassThroughPath(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		var seen string
		r.Script("/api/v1/namespaces/a/pods/x/y z", func(_ http.ResponseWriter, q *http.Request) { seen = q.URL.EscapedPath() })
		if _, _, err := pass(t, r, "GET /api/v1/n%61mespaces/a/pods/x%2Fy%20z HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if seen != "/api/v1/namespaces/a/pods/x/y%20z" {
			t.Errorf("the upstream got %q", seen)
		}
	})
}

func TestPassThroughRedirects(t *testing.T) {
	for location, want := range map[string]string{
		"/openapi/v3/apis/apps/v1?hash=AB":                      "/openapi/v3/apis/apps/v1?hash=AB",
		"http://upstream.test/openapi/v3/api/v1?hash=AB":        "/openapi/v3/api/v1?hash=AB",
		"http://evil.example/openapi/v3/api/v1":                 "",
		"//evil.example/openapi/v3/api/v1":                      "",
		"/api/v1/namespaces/kube-system/secrets":                "",
		"/openapi/../api/v1/secrets":                            "",
		"/openapi/v3/../../api/v1/secrets":                      "",
		"https://user:password@upstream.test/openapi/v3/api/v1": "/openapi/v3/api/v1",
		"javascript:alert(1)":                                   "",
		"openapi/v3":                                            "",
		"":                                                      "",
		"http://[":                                              "",
	} {
		t.Run(location, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.Script("/x", func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Location", location)
					w.WriteHeader(http.StatusMovedPermanently)
				})
				response, _, err := pass(t, r, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
				if err != nil {
					t.Fatal(err)
				}
				if got := response.Header.Get("Location"); got != want || (response.StatusCode == http.StatusMovedPermanently) != (want != "") {
					t.Errorf("got %d to %q, want %q", response.StatusCode, got, want)
				}
			})
		})
	}
}

// A truncated response is never taken for a complete one.
func TestPassThroughBreaksOff(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Script("/x", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"items":[`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		_, body, err := pass(t, r, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
		if err == nil {
			t.Errorf("the client took %q for a complete response", body)
		}
	})
}

func TestPassThroughStreams(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Script("/x", func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				_, _ = io.WriteString(w, "event\n")
				_ = http.NewResponseController(w).Flush()
				<-time.After(time.Hour)
			}
		})
		if _, body, err := pass(t, r, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"); body != "event\nevent\nevent\n" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
	})
}

// A response that switches protocols without a request to do so is an error.
func TestPassThroughUpgrades(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Script("/x", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusSwitchingProtocols)
		})
		response, _, _ := pass(t, r, "GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		if response.StatusCode != http.StatusBadGateway {
			t.Errorf("got status %d", response.StatusCode)
		}
	})
}

// Trailers and informational responses are not forwarded.
func TestPassThroughTrailers(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Script("/x", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</early>")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Set("Trailer", "Warning")
			_, _ = io.WriteString(w, "body")
			_ = http.NewResponseController(w).Flush()
			w.Header().Set("Warning", "late")
			w.Header().Set(http.TrailerPrefix+"Etag", "unannounced")
		})
		response, body, err := pass(t, r, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
		if response.StatusCode != http.StatusOK || body != "body" || err != nil {
			t.Errorf("got %d %q %v", response.StatusCode, body, err)
		}
		if len(response.Trailer) != 0 || response.Header.Get("Trailer") != "" || response.Header.Get("Link") != "" {
			t.Errorf("got %v %v", response.Header, response.Trailer)
		}
	})
}

func TestPassThroughUnreachable(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.SetOffline(true)
		response, body, _ := pass(t, r, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
		if response.StatusCode != http.StatusBadGateway || !strings.HasPrefix(body, "reach the upstream: ") {
			t.Errorf("got %d %q", response.StatusCode, body)
		}
		synctest.Wait()
	})
}
