package chains

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// way forwards requests, or answers them itself.
type way func(w http.ResponseWriter, r *http.Request, next http.Handler)

// serve serves a handler in front of a peer until the test ends. It returns its address and the file of its authority.
func serve(t *testing.T, peer *suite.Facade, through way) (url, ca string) {
	t.Helper()
	next := suite.Forward(t, peer.Config)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { through(w, r, next) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	ca = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return server.URL, ca
}

// recorded returns the answer of the next handler.
func recorded(r *http.Request, next http.Handler) *httptest.ResponseRecorder {
	r.Header.Del("Accept-Encoding")
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	return answer
}

var anyVersion = regexp.MustCompile(`("resourceVersion":")(\d+)`)

// wrong contains unusable peers.
var wrong = map[string]way{
	"refuses": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusForbidden) },
	"is busy": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	},
	"reads another cluster": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := recorded(r, next)
		_, _ = w.Write(regexp.MustCompile(`"uid":"[^"]*"`).ReplaceAll(answer.Body.Bytes(), []byte(`"uid":"another"`)))
	},
	"is of another version": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := recorded(r, next)
		_, _ = w.Write([]byte(strings.Replace(answer.Body.String(), `"gitVersion": "v`, `"gitVersion": "v0`, 1)))
	},
	"is ahead": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		query := r.URL.Query()
		if query.Get("resourceVersion") != "" {
			query.Set("resourceVersion", "0")
			query.Del("resourceVersionMatch")
			r.URL.RawQuery = query.Encode()
		}
		answer := recorded(r, next)
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(anyVersion.ReplaceAllFunc(answer.Body.Bytes(), func(found []byte) []byte {
			parts := anyVersion.FindSubmatch(found)
			version, _ := strconv.Atoi(string(parts[2]))
			return append(parts[1][:len(parts[1]):len(parts[1])], strconv.Itoa(version+1<<30)...)
		}))
	},
	"ends in the middle": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Query().Get("limit") == "" || r.URL.Query().Has("fieldSelector") {
			next.ServeHTTP(w, r)
			return
		}
		answer := recorded(r, next)
		_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	},
}

// A facade does not use the data of an unusable peer. It starts with little delay from kube-apiserver, as without
// peers, and logs the reason once.
func TestWarmStartIgnoresUselessPeer(t *testing.T) {
	settings.Long(t)
	s, peer := newPeer(t)
	for name, through := range wrong {
		t.Run(name, func(t *testing.T) {
			url, ca := serve(t, peer, through)
			fallsBack(t, s, url, ca)
		})
	}
	t.Run("is down", func(t *testing.T) { fallsBack(t, s, "https://"+suite.FreeAddress(t), peer.Config.CAFile) })
	t.Run("is not who it should be", func(t *testing.T) {
		_, ca := serve(t, peer, nil)
		fallsBack(t, s, peer.URL, ca)
	})
}

func fallsBack(t *testing.T, s *suite.Fixture, url, ca string) {
	t.Helper()
	f := suite.StartFacade(t, suite.Cluster(t), warmed(url, ca), func(c *facade.Config) {
		c.Preload, c.PreloadEncodings = []string{"configmaps"}, []string{"json"} // so that there is one first
	})
	if got := fills(t, f, "peer"); got != "0" {
		t.Errorf("%s lanes were filled from the peer", got)
	}
	if said := f.Logs.FilterMessageSnippet("Peer failed").Len(); said != 1 {
		t.Errorf("logged %d times: %v", said, f.Logs.All())
	}
	oracle := s.Oracle(t, f)
	oracle.Compare(t, testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace)})
	oracle.Compare(t, testkit.Question{Path: suite.Collection(suite.Gadgets, s.Namespace)})
}

// gone is kube-apiserver's end of a watch whose version is compacted.
const gone = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
	`"message":"too old resource version","reason":"Expired","code":410}}` + "\n"

// If kube-apiserver no longer has the events after the peer's list, the facade lists.
func TestWarmStartListsAfterCompaction(t *testing.T) {
	s, peer := newPeer(t)
	next := suite.Forward(t, suite.FacadeConfig(t, suite.Cluster(t)))
	var forgot atomic.Int32
	kubeconfig := suite.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, inJSON := r.URL.Query(), !strings.Contains(r.Header.Get("Accept"), "protobuf")
		plain := query.Get("watch") == "1" && query.Get("sendInitialEvents") == "" && query.Get("timeoutSeconds") != "3"
		if plain && inJSON && r.URL.Path == suite.Collection(suite.ConfigMaps, "") && forgot.Add(1) == 1 {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(gone))
			return
		}
		next.ServeHTTP(w, r)
	}))
	f := suite.LaunchFacade(t, kubeconfig, warmed(peer.URL, peer.Config.CAFile))
	f.AwaitReady(t)
	testkit.Eventually(t, "the lane is listed again", func() error {
		if got := fills(t, f, "upstream"); got != "2" { // custom resources are always filled from it
			return fmt.Errorf("got %s fills from the upstream", got)
		}
		return nil
	})
	answersAll(t, s, f)
}
