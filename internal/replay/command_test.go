package replay

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/zap"
	"k8s.io/client-go/tools/clientcmd"
)

// The command prints the moment and how to use the server, and serves until it is interrupted.
func TestCommandServes(t *testing.T) {
	w := shop(t)
	w.close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	o := Options{Dir: w.dir, At: "112", Speed: 1, Listen: "127.0.0.1:0", Kubeconfig: file}
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ran := make(chan error, 1)
	go func() {
		ran <- run(ctx, o, in)
		_ = in.Close()
	}()
	said := make([]byte, 4096)
	n, err := out.Read(said)
	if err != nil {
		t.Fatalf("%v; the command ended with %v", err, <-ran)
	}
	text := string(said[:n])
	server := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(text)
	if !strings.Contains(text, "as of 2026-01-31T03:47:10Z (resourceVersion 112)") || server == "" {
		t.Errorf("got %q, want the moment and the address", text)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil || config.Host != server {
		t.Errorf("got server %v in the kubeconfig and error %v, want %s", config, err, server)
	}
	response, err := http.Get(server + "/api/v1/configmaps") //nolint:noctx // of a test
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if response.Body.Close() != nil || err != nil || !strings.Contains(string(body), `{"resourceVersion":"112"}`) {
		t.Errorf("got %s and error %v, want version 112", body, err)
	}
	cancel()
	if err := <-ran; err != nil {
		t.Errorf("got %v after an interruption, want nil", err)
	}
}

// Open finds a version without a look at the context, so reading the lanes is the first step that the context ends.
func TestLoadingIsInterrupted(t *testing.T) {
	w := shop(t)
	w.close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := Open(ctx, Options{Dir: w.dir, At: "112", Speed: 1}, zap.NewNop())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if r != nil {
		r.Close()
	}
}

func TestCommandFailsBeforeItListens(t *testing.T) {
	for want, o := range map[string]Options{
		"--journal-dir":     {At: "1", Speed: 1, Listen: defaultListen},
		"--at":              {Dir: t.TempDir(), At: "yesterday", Speed: 1, Listen: "127.0.0.1:0"},
		"nothing to replay": {Dir: t.TempDir(), At: "10m", Speed: 1, Listen: "127.0.0.1:0"},
	} {
		if err := run(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
