package handlers

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"
	certutil "k8s.io/client-go/util/cert"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/frames"
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/upstream"
)

// benched is the complete handler behind TLS sockets, over HTTP/2, with 100 config maps of 15 KB.
type benched struct {
	*testkit.FakeUpstream
	base    string
	handler http.Handler
	roots   *x509.CertPool
}

func newBenched(b *testing.B, configure ...func(*Config)) *benched {
	b.Helper()
	kind := testkit.FakeKind{GVR: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	f := &benched{FakeUpstream: testkit.NewFakeUpstream(b, kind)}
	for i := range 100 {
		f.Put(fmt.Sprint("ns/", i), podSized)
	}
	f.handler = f.newHandler(b, configure...)
	f.serve(b)
	return f
}

// podSized is content that makes an object as large as a pod.
var podSized = strings.Repeat("x", 15<<10)

func (f *benched) newHandler(b *testing.B, configure ...func(*Config)) http.Handler {
	b.Helper()
	client, err := upstream.NewClient(f.Config(), upstream.Hop{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.CloseIdle)
	counted := metrics.New(metrics.Sources{})
	lanes := reflector.NewLanes(client, reflector.Config{}, counted, zap.NewNop())
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); lanes.Run(ctx, func() { close(ready) }) }()
	<-ready
	b.Cleanup(func() { stop(); <-ended })
	granted := reviewer(func() (int, []byte, error) {
		return http.StatusCreated, []byte(`{"kind":"SubjectAccessReview","status":{"allowed":true}}`), nil
	})
	config := Config{
		Catalog: upstream.NewCatalog(client), Lanes: LanesOf(lanes.Get), Encodings: allEncodings, Offers: reflector.Offers, Documents: upstream.NewDocuments(client), Fields: upstream.NewFields(client), Upstream: upstream.NewPassThrough(client),
		Authenticator: authenticated{}, Authorizer: auth.NewSelf(granted, 0), Observer: observe.Observers{counted, oplog.NewRequestLog(zap.NewNop())}, Metrics: counted.Handler(), SLIs: counted.SLIs(), Counters: counted, Log: zap.NewNop(), RequestTimeout: time.Minute, MinWatch: 30 * time.Minute,
		BookmarkInterval: time.Minute, WriteTimeout: 30 * time.Second, Draining: ctx,
	}
	for _, set := range configure {
		set(&config)
	}
	return New(config)
}

func (f *benched) serve(b *testing.B) {
	b.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		b.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		b.Fatal(err)
	}
	f.roots = x509.NewCertPool()
	f.roots.AppendCertsFromPEM(cert)
	server := &http.Server{
		Handler: f.handler, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, DynamicRecordSizingDisabled: true},
	}
	if err := frames.ConfigureServer(server); err != nil {
		b.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.ServeTLS(frames.Listener(listener), "", "") }()
	b.Cleanup(func() { _ = server.Close(); <-served })
	f.base = "https://" + listener.Addr().String()
}

// client returns a client with its own connections.
func (f *benched) client(b *testing.B) *http.Client {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: f.roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, DisableCompression: true,
	}}
	b.Cleanup(client.CloseIdleConnections)
	return client
}

func (f *benched) open(b *testing.B, client *http.Client, target string) *http.Response {
	b.Helper()
	response, err := client.Get(f.base + target)
	if err != nil {
		b.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		b.Fatalf("%s: %s", target, response.Status)
	}
	return response
}

// blank is a client without costs, so that only the handlers are measured.
type blank struct {
	header http.Header
	bytes  atomic.Int64
}

func (w *blank) Header() http.Header              { return w.header }
func (w *blank) WriteHeader(int)                  {}
func (w *blank) SetWriteDeadline(time.Time) error { return nil }
func (w *blank) Write(p []byte) (int, error)      { w.bytes.Add(int64(len(p))); return len(p), nil }
func (w *blank) Flush()                           {}

// BenchmarkReads measures reads from the cache: with the handlers alone, and with HTTP/2, TLS and a client.
func BenchmarkReads(b *testing.B) {
	f := newBenched(b)
	client := f.client(b)
	for name, target := range map[string]string{
		"get": "/api/v1/namespaces/ns/configmaps/7?resourceVersion=0", "list of 100": "/api/v1/configmaps?resourceVersion=0",
	} {
		_, _ = io.Copy(io.Discard, f.open(b, client, "/api/v1/configmaps?resourceVersion=0").Body) // fill the lane
		for _, encoding := range []string{"identity", "gzip"} {
			b.Run(name+"/"+encoding+"/handlers", func(b *testing.B) {
				b.ReportAllocs()
				r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, f.base+target, nil)
				if err != nil {
					b.Fatal(err)
				}
				r.ProtoMajor, r.RequestURI = 2, target
				for b.Loop() {
					r.Header = http.Header{"Accept": {"application/json"}, "Accept-Encoding": {encoding}, "User-Agent": {"bench"}}
					w := &blank{header: http.Header{}}
					f.handler.ServeHTTP(w, r)
					if w.bytes.Load() == 0 {
						b.Fatal("got an empty response")
					}
				}
			})
		}
		b.Run(name+"/with a client", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				response := f.open(b, client, target)
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		})
	}
}

// BenchmarkWatches measures the cost of an event of 15 KB for each of 200 watches, on shared or separate connections.
// The client is another process.
func BenchmarkWatches(b *testing.B) {
	for _, each := range []int{100, 1} {
		b.Run(fmt.Sprintf("%d on a connection", each), func(b *testing.B) {
			f := newBenched(b)
			target := "/api/v1/configmaps?watch=1&timeoutSeconds=3000&resourceVersion=" + f.now(b, f.client(b))
			client := exec.Command(os.Args[0]) //nolint:gosec // this program
			client.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s%s", watchClient, each, f.base, target))
			client.Stderr = os.Stderr
			stop, err := client.StdinPipe()
			if err != nil {
				b.Fatal(err)
			}
			received, err := client.StdoutPipe()
			if err != nil {
				b.Fatal(err)
			}
			if err := client.Start(); err != nil {
				b.Fatal(err)
			}
			await := func() {
				if _, err := io.ReadFull(received, make([]byte, 1)); err != nil {
					b.Fatal(err)
				}
			}
			await()
			b.ResetTimer()
			began := cpu(b)
			for i := range b.N {
				f.Put(fmt.Sprint("ns/", i%100), podSized)
				await()
			}
			b.ReportMetric(float64((cpu(b)-began).Microseconds())/float64(b.N*watches), "server-µs/event")
			b.StopTimer()
			_ = stop.Close()
			_ = client.Wait()
		})
	}
}

const (
	// watchClient is the environment variable that makes this program a client of BenchmarkWatches.
	watchClient = "LISTFACADE_WATCH_CLIENT_OF"
	watches     = 200
)

// watchAll opens the watches and writes a byte. It then writes a byte each time that all of them have received one more
// event, until its input ends.
func watchAll(what string) {
	each, url := 0, ""
	_, _ = fmt.Sscan(what, &each, &url)
	lines := make(chan struct{}, 1024)
	var client *http.Client
	for i := range watches {
		if i%each == 0 {
			client = &http.Client{Transport: &http.Transport{
				TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, //nolint:gosec // the benchmark's own server
			}}
		}
		response, err := client.Get(url)
		if err != nil {
			log.Fatal(err)
		}
		go receive(response.Body, lines)
	}
	_, _ = os.Stdout.Write([]byte("."))
	go func() {
		for {
			for range watches {
				<-lines
			}
			_, _ = os.Stdout.Write([]byte("."))
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// receive sends to lines for each line of a watch until it ends.
func receive(body io.Reader, lines chan<- struct{}) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := body.Read(buffer)
		for range bytes.Count(buffer[:n], []byte("\n")) {
			lines <- struct{}{}
		}
		if err != nil {
			return
		}
	}
}

// now is the newest version.
func (f *benched) now(b *testing.B, client *http.Client) string {
	b.Helper()
	response := f.open(b, client, "/api/v1/configmaps?resourceVersion=0&limit=1")
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), `"resourceVersion":"`)
	rv, _, _ := strings.Cut(rest, `"`)
	return rv
}

// cpu is the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
