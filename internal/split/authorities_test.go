package split

import (
	"bufio"
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/listfacade/listfacade/internal/testkit"
)

// replace writes a file as kubelet does: a reader finds the previous content or the next one.
func replace(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file+".next", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".next", file); err != nil {
		t.Fatal(err)
	}
}

func certificateOf(f *fake) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
}

// A changed file applies after two equal reads. Broken files change nothing, and each problem has one line.
func TestAuthoritiesAreReloaded(t *testing.T) {
	first, second := testkit.NewAuthority(t, "first").CertData(), testkit.NewAuthority(t, "second").CertData()
	both := bytes.Join([][]byte{first, second}, nil)
	file := fileOf(t, first)
	core, logs := observer.New(zap.InfoLevel)
	a, err := readAuthorities(file, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name     string
		text     []byte // of the file; nil if it does not exist
		reloaded bool
		lines    int // of the log after the step
	}{
		{name: "unchanged", text: first},
		{name: "one read", text: both},
		{name: "another content", text: second},
		{name: "two reads", text: second, reloaded: true, lines: 1},
		{name: "unchanged again", text: second, lines: 1},
		{name: "half written", text: both[:len(both)-40], lines: 1},
		{name: "still half written", text: both[:len(both)-40], lines: 2},
		{name: "logged once", text: both[:len(both)-40], lines: 2},
		{name: "empty", text: []byte{}, lines: 2},
		{name: "still empty", text: []byte{}, lines: 3},
		{name: "missing", lines: 4},
		{name: "empty again", text: []byte{}, lines: 4},
		{name: "complete", text: both, lines: 4},
		{name: "complete twice", text: both, reloaded: true, lines: 5},
	} {
		before := a.roots()
		if step.text == nil {
			_ = os.Remove(file)
		} else {
			replace(t, file, step.text)
		}
		a.refresh()
		if got := a.roots() != before; got != step.reloaded {
			t.Errorf("%s: got reloaded %t, want %t", step.name, got, step.reloaded)
		}
		if got := logs.Len(); got != step.lines {
			t.Errorf("%s: got %d lines, want %d", step.name, got, step.lines)
		}
	}
}

// A start and a reload accept the same files. The error names the file.
func TestAuthoritiesAreReadTheSameAtStartAndReload(t *testing.T) {
	first, second := testkit.NewAuthority(t, "first").CertData(), testkit.NewAuthority(t, "second").CertData()
	broken := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("not a certificate")})
	other := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte("ignored")})
	for name, test := range map[string]struct {
		text []byte
		want string // in the error; empty for none
	}{
		"two":                    {slices.Concat(second, first), ""},
		"with a comment":         {slices.Concat([]byte("# between -----BEGIN and -----BEGIN X\n"), second), ""},
		"with another block":     {slices.Concat(other, second), ""},
		"without the second end": {slices.Concat(second, first[:len(first)-40]), errIncomplete.Error()},
		"without the first end":  {slices.Concat(second[:len(second)-40], []byte("\n"), first), errIncomplete.Error()},
		"broken second":          {slices.Concat(second, broken), "parse certificate 2"},
		"none":                   {other, errNoCertificate.Error()},
	} {
		file := fileOf(t, test.text)
		_, errStart := readAuthorities(file, zap.NewNop())
		replace(t, file, first)
		a, err := readAuthorities(file, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		replace(t, file, test.text)
		_, _ = a.reload()
		changed, errReload := a.reload()
		for when, err := range map[string]error{"start": errStart, "reload": errReload} {
			if test.want == "" && err != nil || test.want != "" && !isAbout(err, file, test.want) {
				t.Errorf("%s at %s: got %v, want %q about %s", name, when, err, test.want, file)
			}
		}
		if changed != (test.want == "") {
			t.Errorf("%s: got reloaded %t", name, changed)
		}
	}
}

func isAbout(err error, file, text string) bool {
	return err != nil && strings.Contains(err.Error(), file) && strings.Contains(err.Error(), text)
}

// Requests of each kind use the new authorities, also if a connection is open. An open watch goes on.
func TestConnectionsUseNewAuthorities(t *testing.T) {
	lines := make(chan string)
	facade := startFake(t, events(lines))
	right, stranger := certificateOf(facade), testkit.NewAuthority(t, "stranger").CertData()
	file := fileOf(t, right)
	s, err := newServer(Facade, facade.URL, file, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.closeIdle)
	watch, err := s.many.RoundTrip(get(t, facade.URL))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = watch.Body.Close() })
	if err := roundTrip(s.one, get(t, facade.URL+"/readyz")); err != nil { // the connection stays open
		t.Fatal(err)
	}
	for _, step := range []struct {
		text []byte
		ok   bool
	}{{stranger, false}, {right, true}} {
		replace(t, file, step.text)
		s.authorities.refresh()
		s.authorities.refresh()
		for name, transport := range map[string]http.RoundTripper{"HTTP/1.1": s.one, "HTTP/2": s.many} {
			if err := roundTrip(transport, get(t, facade.URL+"/readyz")); (err == nil) != step.ok {
				t.Errorf("%s: got %v, want success %t", name, err, step.ok)
			}
		}
	}
	lines <- "an event"
	if got := nextLine(t, bufio.NewScanner(watch.Body)); got != "an event" {
		t.Errorf("got %q", got)
	}
}

// roundTrip sends a request and reads the answer, so that the connection can be used again.
func roundTrip(transport http.RoundTripper, request *http.Request) error {
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

func get(t *testing.T, url string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// A facade whose authority is written after the start becomes ready.
func TestRunningProxyReloadsAuthorities(t *testing.T) {
	facade := startFake(t, says("from a facade"))
	file := fileOf(t, testkit.NewAuthority(t, "stranger").CertData())
	run := start(t, startFake(t, nil), []*fake{facade}, func(o *Options) { o.FacadeCAFile = file })
	if run.facades.all[0].ready.Load() {
		t.Fatal("the facade is ready before its authority is known")
	}
	replace(t, file, certificateOf(facade))
	eventually(t, "the facade is ready", run.facades.all[0].ready.Load)
	if answer, body := run.do(t, "GET /api/v1/pods"); body != "from a facade" {
		t.Errorf("got %d %s", answer.StatusCode, body)
	}
}
