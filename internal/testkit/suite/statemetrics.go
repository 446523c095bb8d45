package suite

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// StateMetrics is a running kube-state-metrics.
type StateMetrics struct{ url string }

// StartStateMetrics runs kube-state-metrics with flags until the test ends. Without the program it skips the test.
func StartStateMetrics(t testing.TB, flags ...string) *StateMetrics {
	t.Helper()
	program := CompiledBefore(t, "kube-state-metrics")
	host, port, err := net.SplitHostPort(FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	Launch(t, program, append([]string{
		"--host=" + host, "--port=" + port, "--telemetry-host=" + host, fmt.Sprint("--telemetry-port=", FreePort(t)),
	}, flags...)...)
	return &StateMetrics{"http://" + net.JoinHostPort(host, port) + "/metrics"}
}

// Read returns the metrics in Prometheus' text format, or an error while the program starts.
func (s *StateMetrics) Read() (string, error) {
	response, err := http.Get(s.url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("got %s: %s", response.Status, body)
	}
	return string(body), err
}
