package frames

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	certutil "k8s.io/client-go/util/cert"

	"github.com/listfacade/listfacade/internal/testkit"
)

// clientOf is the environment variable that makes this program the client of a benchmark. The client is a separate
// process, so that the CPU time of the server is known.
const clientOf = "LISTFACADE_FRAMES_CLIENT_OF"

func TestMain(m *testing.M) {
	if base := os.Getenv(clientOf); base != "" {
		if err := readAll(base); err != nil {
			log.Fatal(err)
		}
		return
	}
	testkit.VerifyTestMain(m)
}

// serve runs a server on real sockets until the test ends.
func serve(t testing.TB, listen func(net.Listener) net.Listener, configure func(*http.Server) error, handler http.Handler) (base string, client *http.Client) {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: handler, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, DynamicRecordSizingDisabled: true},
	}
	if err := configure(server); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(listen(listener), "", "") }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	client = newClient(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	t.Cleanup(client.CloseIdleConnections)
	return "https://" + listener.Addr().String(), client
}

func newClient(c *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true, DisableCompression: true}}
}

// BenchmarkLargeAnswers sends lists of 100 MB to concurrent clients, each on its own connection. It reports CPU time
// per GB.
func BenchmarkLargeAnswers(b *testing.B) {
	const size = 100 << 20
	ways := []struct {
		name      string
		listen    func(net.Listener) net.Listener
		configure func(*http.Server) error
	}{
		{"as net/http does", func(l net.Listener) net.Listener { return l }, func(*http.Server) error { return nil }},
		{"in larger frames", Listener, ConfigureServer},
	}
	piece := make([]byte, 128<<10) // the size of one write in internal/wire
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		clients, _ := strconv.Atoi(r.URL.Query().Get("clients"))
		for sent := 0; sent < size/clients; sent += len(piece) {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	for _, clients := range []int{1, 8, 64} {
		for _, way := range ways {
			b.Run(fmt.Sprintf("%d clients/%s", clients, way.name), func(b *testing.B) {
				base, _ := serve(b, way.listen, way.configure, answer)
				client := exec.Command(os.Args[0]) //nolint:gosec // this program
				client.Env = append(os.Environ(), fmt.Sprintf("%s=%s?clients=%d %d", clientOf, base, clients, b.N))
				client.Stderr = os.Stderr
				began := cpu()
				if err := client.Run(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric((cpu()-began).Seconds()/(size*float64(b.N)/1e9), "server-s/GB")
				spent := client.ProcessState.SystemTime() + client.ProcessState.UserTime()
				b.ReportMetric(spent.Seconds()/(size*float64(b.N)/1e9), "client-s/GB")
			})
		}
	}
}

// readAll is the client: it opens the given number of connections, and sends the given number of requests on each.
func readAll(what string) error {
	base, times, _ := strings.Cut(what, " ")
	_, count, _ := strings.Cut(base, "=")
	rounds, _ := strconv.Atoi(times)
	clients, _ := strconv.Atoi(count)
	errs := make(chan error, clients)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			client := newClient(&tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the benchmark's own server
			buffer := make([]byte, 1<<20)
			for range rounds {
				response, err := client.Get(base)
				if err == nil {
					_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, response.Body, buffer)
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(errs)
	return <-errs
}

// cpu returns the CPU time that this process has used.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
