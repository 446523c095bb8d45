package handlers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/observe"
)

// reporting runs a test with a facade that reports its clients.
func reporting(t *testing.T, test func(*testing.T, *facade)) {
	t.Helper()
	inBubble(t, test, func(c *Config) {
		c.Inflight = new(observe.Inflight)
		c.Clients = accounting.NewClients(c.Inflight)
		c.Observer = observe.Observers{c.Clients, c.Inflight}
		c.BookmarkInterval = time.Hour
	})
}

// reportOf reads a report as JSON.
func reportOf[T any](t *testing.T, f *facade, target string) (report T) {
	t.Helper()
	response, body := f.get(t, target)
	if err := json.Unmarshal([]byte(body), &report); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s: %v", target, response.Status, body, err)
	}
	return report
}

// A watch that sends events is reported before it ends, with its costs and its position.
func TestOpenWatchIsReported(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) {
			reporting(t, func(t *testing.T, f *facade) {
				f.Put("ns/a", "1")
				f.get(t, reads[0])
				if version == 2 {
					f.client = f.http2
				}
				watch := f.ask(t, "/api/v1/configmaps?watch=1&resourceVersion=0&labelSelector=!x", "application/json")
				for i := range 10 {
					f.Put("ns/a", fmt.Sprint("value ", i))
				}
				text := make([]byte, 0, 1<<16)
				for strings.Count(string(text), "\n") < 11 {
					n, err := watch.Body.Read(text[len(text):cap(text)])
					if text = text[:len(text)+n]; err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				<-time.After(time.Minute)
				list := reportOf[observe.OpenList](t, f, "/debug/watches?output=json")
				if list.Total != 1 {
					t.Fatalf("got %+v", list)
				}
				w := list.Items[0]
				if w.User != "kubeconfig" || w.Resource != "configmaps" || w.LabelSelector != "!x" || w.ResourceVersion != "0" || w.Mode != "Any" || w.Source != "cache" ||
					w.Events != 11 || w.Bytes != int64(len(text)) || w.LagEvents != 0 || w.LagSeconds != 0 || w.State != "idle" || w.AgeSeconds != 60 || w.At == 0 {
					t.Errorf("%+v %+v", w, w.OpenWatch)
				}
				for by, want := range map[string]int64{"events": 11, "bytes": int64(len(text))} {
					ranking := reportOf[accounting.Ranking](t, f, "/debug/clients?window=5m&output=json&by="+by)
					found := false
					for _, client := range ranking.Clients {
						if client.Verb == "watch" {
							found = true
							if client.Estimate != want || client.Error != 0 || client.Selector != "label x !" {
								t.Errorf("by %s: %+v, want %d", by, client, want)
							}
						}
					}
					if !found {
						t.Errorf("by %s: %+v", by, ranking)
					}
				}
				_ = watch.Body.Close()
				synctest.Wait()
				if list := reportOf[observe.OpenList](t, f, "/debug/watches?output=json"); list.Total != 0 {
					t.Errorf("got %+v", list)
				}
			})
		})
	}
}

// A watch whose client does not read is reported as waiting for it and as behind.
func TestStalledWatchIsReported(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) {
			reporting(t, func(t *testing.T, f *facade) {
				f.Put("ns/a", "1")
				f.get(t, reads[0])
				client := f.client
				if version == 2 {
					f.client = f.http2
				}
				watch := f.ask(t, "/api/v1/configmaps?watch=1&resourceVersion=0", "application/json")
				f.client = client // on another connection
				for range 100 {
					f.Put("ns/a", strings.Repeat("x", 32<<10)) // more in total than any buffer takes
				}
				synctest.Wait()
				<-time.After(10 * time.Second)
				list := reportOf[observe.OpenList](t, f, "/debug/watches?output=json")
				if w := list.Items[0]; w.State != "writing" || w.WaitsFor != "client" || w.StateSeconds < 9 || w.LagSeconds < 9 || w.LagEvents < 1 {
					t.Errorf("%+v %+v", w, w.OpenWatch)
				}
				_, text := f.get(t, "/debug/watches")
				if lines := strings.Split(text, "\n"); lines[0] != "1 in flight, 1 listed" || !strings.Contains(lines[1], "WAITS-FOR") || !strings.Contains(lines[2], "client") {
					t.Errorf("%s", text)
				}
				_ = watch.Body.Close()
			})
		})
	}
}

// A request that waits is reported with its step.
func TestOpenRequestIsReported(t *testing.T) {
	reporting(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		answers, whole := make(chan struct{}), make(chan struct{})
		f.Script("/api/v1/namespaces/ns/configmaps/a/status", func(http.ResponseWriter, *http.Request) { <-answers })
		go func() {
			defer close(whole)
			if response, _, err := f.try(t, http.MethodGet, "/api/v1/namespaces/ns/configmaps/a/status"); err == nil {
				_ = response.Body.Close()
			}
		}()
		<-time.After(3 * time.Second)
		list := reportOf[observe.OpenList](t, f, "/debug/requests?by=age&limit=1&output=json")
		if list.Total != 2 || len(list.Items) != 1 {
			t.Fatalf("%+v", list)
		}
		r := list.Items[0]
		if r.Subresource != "status" || r.Namespace != "ns" || r.Name != "a" || r.State != "asking" || r.WaitsFor != "upstream" || r.StateSeconds != 3 ||
			r.Source != "upstream" || r.Reason != "not_a_read" || r.OpenWatch != nil {
			t.Errorf("%+v", r)
		}
		close(answers)
		<-whole
	})
}

// Invalid queries are refused like in kube-apiserver, and only for authorized callers.
func TestReportsRefuseInvalidQueries(t *testing.T) {
	reporting(t, func(t *testing.T, f *facade) {
		for target, want := range map[string]string{
			"/debug/clients?by=x":              `by: Unsupported value: "x": supported values: "bytes", "cpu", "objects", "forwarded", "events"`,
			"/debug/clients?window=x":          `window: Invalid value: "x": must be a duration greater than 0s and at most 15m0s`,
			"/debug/clients?window=-1s":        `window: Invalid value: "-1s": must be a duration greater than 0s and at most 15m0s`,
			"/debug/clients?window=16m":        `window: Invalid value: "16m": must be a duration greater than 0s and at most 15m0s`,
			"/debug/clients?limit=0":           `limit: Invalid value: "0": must be between 1 and 1000, inclusive`,
			"/debug/requests?limit=1001":       `limit: Invalid value: "1001": must be between 1 and 1000, inclusive`,
			"/debug/requests?by=lag":           `by: Unsupported value: "lag": supported values: "age", "bytes"`,
			"/debug/watches?by=%1b&limit=a":    `[by: Unsupported value: "?": supported values: "lag", "events", "bytes", "age", limit: Invalid value: "a": must be between 1 and 1000, inclusive]`,
			"/debug/watches?output=yaml":       `output: Unsupported value: "yaml": supported values: "text", "json"`,
			"/debug/clients?output=json&by=%3": "",
		} {
			response, body := f.get(t, target)
			if want == "" {
				if response.StatusCode != http.StatusOK {
					t.Errorf("%s: %s", target, body)
				}
				continue
			}
			var status metav1.Status
			if err := json.Unmarshal([]byte(body), &status); err != nil || response.StatusCode != http.StatusBadRequest ||
				status.Message != want || status.Reason != metav1.StatusReasonBadRequest {
				t.Errorf("%s: %d %s", target, response.StatusCode, body)
			}
		}
		for _, path := range []string{"/debug/clients", "/debug/requests", "/debug/watches"} {
			if response, _, err := f.try(t, http.MethodHead, path); err != nil || response.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("HEAD %s: %v %v", path, response, err)
			}
		}
	})
}

// A report is text, unless the client requests JSON in one of two ways.
func TestReportsAreNegotiated(t *testing.T) {
	const text, asJSON = "text/plain; charset=utf-8", "application/json"
	reporting(t, func(t *testing.T, f *facade) {
		for _, path := range []string{"/debug/clients", "/debug/requests", "/debug/watches"} {
			for accept, want := range map[string]string{
				"": text, "*/*": text, "text/*": text, "text/html, */*;q=.1": text, "application/json": asJSON, "application/json, */*": asJSON,
				"text/plain;q=.1, application/json": asJSON, "application/yaml": "",
			} {
				response, body, err := f.tryFor(t, path, accept)
				switch {
				case err != nil:
					t.Fatal(err)
				case want == "" && response.StatusCode != http.StatusNotAcceptable:
					t.Errorf("%s as %q: %d %s", path, accept, response.StatusCode, body)
				case want != "" && (response.Header.Get("Content-Type") != want || response.Header.Get("X-Content-Type-Options") != "nosniff"):
					t.Errorf("%s as %q: %v", path, accept, response.Header)
				}
			}
			for output, want := range map[string]string{"text": text, "json": asJSON} {
				if response, _, err := f.tryFor(t, path+"?output="+output, "application/yaml"); err != nil || response.Header.Get("Content-Type") != want {
					t.Errorf("%s: %v %v", output, response, err)
				}
			}
		}
	})
}

// Without these reports, the paths are forwarded.
func TestReportPathsAreForwardedWhenDisabled(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Script("/debug/clients", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the upstream's") })
		if _, body := f.get(t, "/debug/clients"); body != "the upstream's" {
			t.Errorf("%s", body)
		}
	})
}

// Bytes of a watch over a websocket are counted like those of any other watch.
func TestOpenSocketIsReported(t *testing.T) {
	reporting(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test/api/v1/configmaps?watch=1&resourceVersion=0", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{
			"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
			"Origin": {"http://facade.test"},
		}
		response, err := f.client.Do(request)
		if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
			t.Fatal(response, err)
		}
		go func() { _, _ = io.Copy(io.Discard, response.Body) }()
		synctest.Wait()
		list := reportOf[observe.OpenList](t, f, "/debug/watches?output=json")
		if list.Total != 1 || list.Items[0].Events != 1 || list.Items[0].Bytes < 100 || list.Items[0].State != "idle" {
			t.Errorf("%+v", list)
		}
		sent := list.Items[0].Bytes
		_ = response.Body.Close()
		synctest.Wait()
		ranking := reportOf[accounting.Ranking](t, f, "/debug/clients?by=bytes&output=json")
		for _, client := range ranking.Clients {
			if client.Verb == "watch" && client.Estimate == sent {
				return
			}
		}
		t.Errorf("got %+v, want %d bytes", ranking, sent)
	})
}

// The pattern of selectors has no values, is sorted, and has a maximum length.
func TestSelectorPatterns(t *testing.T) {
	reporting(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		f.get(t, "/api/v1/configmaps?resourceVersion=0&fieldSelector=metadata.name==a&labelSelector=z,y!=1,x==2,w+notin+(1,2),x=3")
		f.get(t, "/api/v1/configmaps?resourceVersion=0&labelSelector=a,b,c,d,e,f,g,h")
		ranking := reportOf[accounting.Ranking](t, f, "/debug/clients?output=json")
		shapes := map[string]bool{}
		for _, client := range ranking.Clients {
			shapes[client.Selector] = true
		}
		for _, want := range []string{
			"field metadata.name =, label w notin, label x =, label y !=, label z exists",
			"label a exists, label b exists, label c exists, label d exists, label e exists, label f exists, ...",
		} {
			if !shapes[want] {
				t.Errorf("got shapes %[2]v, want %[1]s among them", want, shapes)
			}
		}
	})
}
