package lists

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// inflaters are programs that read compressed answers (test/clients/README.md). Their arguments are the file of the
// trusted certificate and the URL. They print the decompressed answer.
var inflaters = []struct {
	name    string
	command []string
	streams bool // it reads a body of several members
}{
	{"Python's zlib", []string{"python3", source("inflate.py"), "zlib"}, true},
	{"Python's gzip", []string{"python3", source("inflate.py"), "gzip"}, true},
	{"Node", []string{"node", source("inflate.mjs")}, true},
	// curl rejects data after the first gzip member.
	{"curl", []string{"curl", "-sS", "--fail", "--compressed", "-A", "compressed", "--cacert"}, false},
	// GZIPInputStream ends at the end of a member if the next has not arrived.
	{"Java", java("stream"), false},
	{wholeBody, java("whole"), true},
}

const wholeBody = "Java, of the whole body"

// java returns the command of a Java reader. It disables the optimizing compiler, which would take longer than it
// saves.
func java(way string) []string {
	return []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", source("Inflate.java"), way}
}

func source(file string) string { return filepath.Join("..", "clients", "inflate", file) }

// compressed is a facade with a long list.
type compressed struct {
	run  *suite.Facade
	path string // of the collection
}

const (
	asStream = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=10"
	asList   = "?resourceVersion=0"
)

// compressedObjects is the number of objects in each body, enough for many compressed blocks.
func compressedObjects() int { return settings.Amount(500, 2000) }

// Clients of all kinds decompress exactly the bytes of the uncompressed answer. The timeouts of streams are long enough
// for a busy machine, so streams run in parallel.
func TestCompressedBodies(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	c := &compressed{run: suite.StartFacade(t, suite.Cluster(t), suite.Unpacked), path: suite.Collection(suite.ConfigMaps, s.Namespace)}
	c.write(t, s)
	for name, query := range map[string]string{"a list": asList, "a streaming list": asStream} {
		want := c.ask(t, query, "identity")
		if len(want) < compressedObjects()*1000 {
			t.Fatalf("%s: %d bytes: %.300s", name, len(want), want)
		}
		same := func(t *testing.T, got []byte) {
			t.Helper()
			if plain := masked(got); !bytes.Equal(plain, want) {
				t.Errorf("%d bytes, want %d; they end %q", len(plain), len(want), plain[max(len(plain)-100, 0):])
			}
		}
		t.Run(name+"/gzip and Go", func(t *testing.T) {
			t.Parallel()
			raw := c.ask(t, query, "gzip")
			unzip, err := gzip.NewReader(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(unzip)
			if err != nil {
				t.Fatal(err)
			}
			same(t, plain)
			if has(t, "gzip") {
				same(t, output(t, bytes.NewReader(raw), "gzip", "-dc"))
			}
		})
		for protocol, client := range map[string]*http.Client{"HTTP1": c.run.HTTP1Client(t), "HTTP2": c.run.HTTP2Client(t)} {
			t.Run(name+"/Go over "+protocol, func(t *testing.T) {
				t.Parallel()
				answer, err := client.Get(c.run.URL + c.path + query) // Go's client requests gzip by default
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				plain, err := io.ReadAll(answer.Body)
				if err != nil || !answer.Uncompressed {
					t.Fatalf("uncompressed %t: %v", answer.Uncompressed, err)
				}
				same(t, plain)
			})
		}
		for _, program := range inflaters {
			if query == asStream && !program.streams {
				continue
			}
			if query == asList && program.name == wholeBody && testing.Short() {
				continue // Java reads it in the other way
			}
			t.Run(name+"/"+program.name, func(t *testing.T) {
				t.Parallel()
				if has(t, program.command[0]) {
					same(t, output(t, nil, program.command[0], append(program.command[1:], c.run.Config.CAFile, c.run.URL+c.path+query)...))
				}
			})
		}
	}
}

// write creates objects of many sizes. Some compress well.
func (c *compressed) write(t *testing.T, s *suite.Fixture) {
	t.Helper()
	random := settings.Random(t)
	var version string
	for i := range compressedObjects() {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("item-%04d", i)},
			"data": map[string]any{"text": text(random)},
		}}
		created, err := s.In(suite.ConfigMaps).Create(t.Context(), object, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		version = created.GetResourceVersion()
	}
	suite.Reach(t, s.Oracle(t, c.run), c.path, suite.RVOf(t, version))
}

func text(random *rand.Rand) string {
	words := make([]byte, 500+random.IntN(3000))
	for i := range words {
		words[i] = "aaaabcdefghijklmnopqrstuvwxyz 0123456789"[random.IntN(1+i%40)]
	}
	return string(words)
}

// ask reads a complete body without decompression. It masks an uncompressed body.
func (c *compressed) ask(t *testing.T, query, coding string) []byte {
	t.Helper()
	asker, err := testkit.NewAsker(c.run.Config)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := asker.Open(t.Context(), testkit.Question{Path: c.path + query, Header: http.Header{"Accept-Encoding": {coding}}})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if (coding == "gzip") != (answer.Header.Get("Content-Encoding") == "gzip") {
		t.Fatalf("requested %s, got %v", coding, answer.Header)
	}
	if coding == "gzip" {
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	var body []byte
	for lines := bufio.NewReader(answer.Body); ; {
		line, err := lines.ReadBytes('\n')
		body = append(body, line...)
		if errors.Is(err, io.EOF) || bytes.HasPrefix(line, endOfInitial) {
			return masked(body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ownVersion matches the version of a list, which changes as other resources are written.
var ownVersion = regexp.MustCompile(`^\{"kind":"ConfigMapList","apiVersion":"v1","metadata":\{"resourceVersion":"\d+"`)

var endOfInitial = []byte(`{"type":"BOOKMARK",`)

// masked returns a body without its version. A stream is cut at the bookmark that ends the initial events.
func masked(body []byte) []byte {
	if initial, end, ok := bytes.Cut(body, endOfInitial); ok && bytes.Contains(end, []byte(herdEnd)) {
		return initial
	}
	return body[len(ownVersion.Find(body)):]
}

func has(t *testing.T, tool string) bool {
	t.Helper()
	_, err := exec.LookPath(tool)
	if err != nil {
		suite.MayMiss(t, err.Error())
		t.Skip(err)
	}
	return err == nil
}

// output runs a program that must succeed, and returns its output.
func output(t *testing.T, input io.Reader, name string, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	var said, complained bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = input, &said, &complained
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, complained.Bytes())
	}
	return said.Bytes()
}
