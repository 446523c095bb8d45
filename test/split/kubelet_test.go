package split

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// startKubelet starts a kubelet until the test ends, and returns its address. It serves logs, exec, attach and
// port-forward of any container, with the protocols that kube-apiserver uses.
func startKubelet(t *testing.T) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "log of %s\n", r.PathValue("pod"))
	})
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", runs)
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", runs)
	mux.HandleFunc("/portForward/{namespace}/{pod}", forwards)
	server := httptest.NewTLSServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().String()
}

// accept upgrades a request, and returns a channel of the streams that the client opens.
func accept(w http.ResponseWriter, r *http.Request, protocol string) (httpstream.Connection, <-chan httpstream.Stream) {
	if _, err := httpstream.Handshake(r, w, []string{protocol}); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, nil
	}
	streams := make(chan httpstream.Stream, 8)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		streams <- stream
		return nil
	})
	return conn, streams
}

// runs is a command: it prints its arguments and then what it reads.
func runs(w http.ResponseWriter, r *http.Request) {
	conn, streams := accept(w, r, "v4.channel.k8s.io")
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }()
	query := r.URL.Query()
	open := map[string]httpstream.Stream{}
	for want := 1 + len(query["input"]) + len(query["output"]) + len(query["error"]); len(open) < want; {
		select {
		case stream := <-streams:
			open[stream.Headers().Get(corev1.StreamType)] = stream
		case <-conn.CloseChan():
			return
		}
	}
	output := open[corev1.StreamTypeStdout]
	_, _ = fmt.Fprintf(output, "ran %s\n", strings.Join(query["command"], " "))
	if input := open[corev1.StreamTypeStdin]; input != nil {
		_, _ = io.Copy(output, input)
	}
	_, _ = io.WriteString(open[corev1.StreamTypeError], `{"metadata":{},"status":"Success"}`)
	for _, stream := range open {
		_ = stream.Close()
	}
	<-conn.CloseChan()
}

// forwards is a pod that answers an HTTP request on any port.
func forwards(w http.ResponseWriter, r *http.Request) {
	conn, streams := accept(w, r, "portforward.k8s.io")
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }()
	for {
		select {
		case stream := <-streams:
			if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				_ = stream.Close()
				continue
			}
			go func() {
				defer stream.Close()
				request, err := http.ReadRequest(bufio.NewReader(stream))
				if err == nil {
					_, _ = fmt.Fprintf(stream, "HTTP/1.0 200 OK\r\n\r\n%s on port %s", request.URL, stream.Headers().Get(corev1.PortHeader))
				}
			}()
		case <-conn.CloseChan():
			return
		}
	}
}
