package kubelet

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

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

// ServeHTTP runs the command of a request, with the streams that its client opens.
func (run Run) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	p := Process{
		Namespace: r.PathValue("namespace"), Pod: r.PathValue("pod"), Container: r.PathValue("container"),
		Command: query["command"], Stdout: io.Discard, Stderr: io.Discard,
	}
	if stream := open[corev1.StreamTypeStdin]; stream != nil {
		p.Stdin = stream
	}
	if stream := open[corev1.StreamTypeStdout]; stream != nil {
		p.Stdout = stream
	}
	if stream := open[corev1.StreamTypeStderr]; stream != nil {
		p.Stderr = stream
	}
	_ = json.NewEncoder(open[corev1.StreamTypeError]).Encode(statusOf(run(r.Context(), p)))
	for _, stream := range open {
		_ = stream.Close()
	}
	<-conn.CloseChan()
}

// statusOf returns what a kubelet reports about a process that ended, as the fields of a Status.
func statusOf(err error) map[string]any {
	if err == nil {
		return map[string]any{"status": metav1.StatusSuccess}
	}
	status := map[string]any{"status": metav1.StatusFailure, "message": err.Error()}
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		status["reason"] = remotecommand.NonZeroExitCodeReason
		status["details"] = map[string]any{"causes": []any{
			map[string]any{"reason": remotecommand.ExitCodeCauseType, "message": strconv.Itoa(exit.ExitCode())},
		}}
	}
	return status
}

// forwards handles port-forward. In place of the pod, it answers an HTTP request on any port.
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
					port := stream.Headers().Get(corev1.PortHeader)
					_, _ = fmt.Fprintf(stream, "HTTP/1.0 200 OK\r\n\r\n%s on port %s", request.URL, port)
				}
			}()
		case <-conn.CloseChan():
			return
		}
	}
}
