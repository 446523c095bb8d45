package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func figures(cpu time.Duration, bytes int64) *Figures {
	return &Figures{CPU: Spread{cpu, cpu / 2, 2 * cpu}, P50: cpu, P99: 3 * cpu, First: cpu / 4, Bytes: bytes, Resident: 2e9, Peak: 3e9, Answers: 6}
}

func sample() Results {
	passed := figures(20*time.Millisecond, 40e6)
	passed.Behind = 180 * time.Millisecond
	herd := figures(time.Second, 30e6)
	herd.Until, herd.Failed = 30*time.Second, 2
	soon := figures(10*time.Millisecond, 12e6)
	soon.Until = time.Second
	return Results{
		Machine: strings.Repeat("2 processors, ", 12) + "all of them", Data: "20000 pods.", Command: "make bench", Took: 90 * time.Second,
		Results: []Result{
			{Name: "list-json-gzip", Title: "LIST all, JSON gzip", By: CPU, Must: 40, Aim: 100,
				Direct: figures(2*time.Second, 30e6), Facade: figures(40*time.Millisecond, 24e6), Files: figures(20*time.Millisecond, 24e6)},
			{Name: "list-protobuf-gzip", Title: "LIST all, protobuf gzip", By: CPU, Must: 30, Aim: 60,
				Direct: figures(200*time.Millisecond, 20e6), Facade: passed},
			{Name: "herd", Title: "Herd of 20", By: Wall, Must: 10, Aim: 30, Direct: herd, Facade: soon},
			{Name: "memory", Title: "memory", Rows: []Row{{"live heap", "2.0 MB", "1.0 MB", "2.00"}}},
			{Name: "company", Title: "company", Rows: slices.Repeat([]Row{{"reads", "1 /s", "2 /s", "0.50"}}, manyRows)},
		},
	}
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := sample().Markdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| LIST all, JSON gzip | 2.00 s | 40.0 ms |  | 20.0 ms | 50.0 | 40.0 | 100 | must | 2.00 |\n",
		"| LIST all, JSON gzip | 2.00 s [1.00 s, 4.00 s] | 40.0 ms [20.0 ms, 80.0 ms] | 20.0 ms [10.0 ms, 40.0 ms] |\n",
		// The ratio includes the processor time of kube-apiserver behind the facade.
		"| LIST all, protobuf gzip | 200 ms | 20.0 ms | 180 ms |  | 1.00 | 30.0 | 60.0 | **no** |  |\n",
		"| Herd of 20: time until the last client is done | 30.0 s (2 failed) | 1.00 s |  |  | ≥ 30.0 | 10.0 | 30.0 | aim |  |\n" +
			"| Herd of 20 | 1.00 s (2 failed) | 10.0 ms |  |  | ≥ 100 |  |  |  |  |\n",
		"| LIST all, JSON gzip: CPU as a multiple of the file server's | 2.00 | 1.50 | **no** |\n",
		"| LIST all, JSON gzip: bytes as a share of kube-apiserver's | 0.80 | 0.50 | **no** |\n",
		"| LIST all, JSON gzip | 2.00 s / 6.00 s / 500 ms | 40.0 ms / 120 ms / 10.0 ms | 20.0 ms / 60.0 ms / 5.00 ms |\n",
		"| LIST all, JSON gzip | 30.0 MB / 2000.0 MB / 3000.0 MB |",
		"| live heap | 2.0 MB | 1.0 MB | 2.00 |\n",
		"    make bench\n",
		// Prose is wrapped.
		strings.Repeat("2 processors, ", 8) + "2\nprocessors, " + strings.Repeat("2 processors, ", 3) + "all of them\n\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("missing: %s", want)
		}
	}
	if t.Failed() {
		t.Log(b.String())
	}
}

func TestFailedResponsesReachNoGoal(t *testing.T) {
	r := Result{By: CPU, Must: 2, Aim: 3, Direct: figures(time.Second, 1), Facade: figures(time.Millisecond, 1)}
	if got := r.Reached(); got != "aim" {
		t.Errorf("got %q, want aim", got)
	}
	r.Facade.Failed = 1
	if got := r.Reached(); got != "**no**" {
		t.Errorf("got %q with a failed response, want **no**", got)
	}
}

func TestReplaceKeepsTextOutsideTheMarkers(t *testing.T) {
	text := "# Title\n\n" + beginMarker + "\nold\n" + endMarker + "\n\nBelow.\n"
	got, err := Replace([]byte(text), []byte("new\n"))
	if want := "# Title\n\n" + beginMarker + "\n\nnew\n\n" + endMarker + "\n\nBelow.\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
	again, err := Replace(got, []byte("new\n"))
	if err != nil || string(again) != string(got) {
		t.Errorf("repeated: got %q, %v", again, err)
	}
	for _, wrong := range []string{"", beginMarker + "\n", endMarker + "\n" + beginMarker + "\n", text + text} {
		if _, err := Replace([]byte(wrong), nil); !errors.Is(err, ErrNoMarkers) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// All published files can be written again from the JSON, byte for byte.
func TestPublishIsRepeatableFromJSON(t *testing.T) {
	dir := t.TempDir()
	document := filepath.Join(dir, document)
	if err := os.WriteFile(document, []byte("By hand.\n"+beginMarker+"\n"+endMarker+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := sample()
	if err := want.Publish(dir); err != nil {
		t.Fatal(err)
	}
	first := published(t, dir)
	got, err := Read(filepath.Join(dir, assets, ResultsFile))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("read %v, %v", got, err)
	}
	if err := got.Publish(dir); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, published(t, dir)) {
		t.Error("got different files when published from JSON")
	}
}

// published reads a document and its plots, and checks that the plots are valid XML.
func published(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, name := range []string{document, assets + "/" + detailsFile, assets + "/cpu.svg", assets + "/time.svg"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(data)
		if !strings.HasSuffix(name, ".svg") {
			continue
		}
		for decoder := xml.NewDecoder(strings.NewReader(texts[name])); ; {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	if !strings.HasPrefix(texts[document], "By hand.\n") || !strings.Contains(texts[document], "(benchmarks/cpu.svg)") {
		t.Errorf("the document is\n%s", texts[document])
	}
	for _, text := range []string{"### Server CPU", "### Time", "| reads |"} {
		if details := texts[assets+"/"+detailsFile]; !strings.Contains(details, text) || strings.Contains(texts[document], text) {
			t.Errorf("%q is not only in the file of details:\n%s", text, details)
		}
	}
	return texts
}
