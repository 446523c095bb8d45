package auditlog

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit"
)

func TestMain(m *testing.M) { testkit.VerifyTestMain(m) }

// line returns a line of kube-apiserver 1.37, without its end.
func line(n int) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"f2f30d94-1f0a-4ac5-9d38-%012d","stage":"ResponseComplete",`+
		`"requestURI":"/apis/apps/v1/namespaces/team-a/deployments/web/status?limit=500\u0026resourceVersion=0","verb":"get","user":{"username":"system:serviceaccount:team-a:poller",`+
		`"groups":["system:authenticated"],"extra":{"authentication.kubernetes.io/credential-id":["X509SHA256=04ad"]}},"impersonatedUser":{"username":"amy"},"sourceIPs":["10.0.0.1"],`+
		`"userAgent":"poller/v1 \"quoted\"","objectRef":{"resource":"deployments","namespace":"team-a","name":"web","apiGroup":"apps","apiVersion":"v1","subresource":"status"},`+
		`"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-11-20T12:00:00.000000Z","stageTimestamp":"2026-11-20T12:00:00.25Z","annotations":{"authorization.k8s.io/decision":"allow"}}`, n)
}

var arrived = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestEventOfKubeAPIServerIsRead(t *testing.T) {
	var e Event
	if err := e.parse([]byte(line(1))); err != nil {
		t.Fatal(err)
	}
	want := Event{
		Stage: Complete, Verb: []byte("get"), URI: []byte("/apis/apps/v1/namespaces/team-a/deployments/web/status?limit=500&resourceVersion=0"),
		User: []byte("system:serviceaccount:team-a:poller"), Agent: []byte(`poller/v1 "quoted"`), Group: []byte("apps"), Resource: []byte("deployments"),
		Subresource: []byte("status"), Namespace: []byte("team-a"), Name: []byte("web"), Code: 200, Impersonates: true, Certificate: true,
		Received: arrived, At: arrived.Add(250 * time.Millisecond),
	}
	if d := cmp.Diff(want, e); d != "" {
		t.Error(d)
	}
}

func TestLineWithoutAnEventIsBroken(t *testing.T) {
	valid := line(1)
	for name, text := range map[string]string{
		"empty object": `{}`, "not JSON": `2026-11-20 AUDIT: id="x" stage="ResponseComplete"`, "cut off": valid[:len(valid)-40], "another kind": strings.Replace(valid, `"kind":"Event"`, `"kind":"EventList"`, 1),
		"another group": strings.Replace(valid, "audit.k8s.io", "events.k8s.io", 1), "no stage": strings.Replace(valid, `"stage":"ResponseComplete"`, `"stage":""`, 1), "two values": valid + valid,
		"a bad time": strings.Replace(valid, "12:00:00.25Z", "noon", 1), "no time": strings.Replace(valid, `"stageTimestamp"`, `"time"`, 1), "an array": "[" + valid + "]", "a number": "1",
	} {
		if err := new(Event).parse([]byte(text)); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// write writes a file whose content may be compressed.
func write(t *testing.T, name, content string, compressed bool) string {
	t.Helper()
	data := []byte(content)
	if compressed {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data = zipped.Bytes()
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read returns the number of events in files, and the counts.
func read(t *testing.T, stdin string, names ...string) (int, Counts) {
	t.Helper()
	files, err := Find(names, strings.NewReader(stdin))
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	counts, err := files.Each(t.Context(), func(some []Event) { events += len(some) })
	if err != nil {
		t.Fatal(err)
	}
	return events, counts
}

// lines returns many lines, more than a block.
func lines(n int) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(line(i))
		all.WriteByte('\n')
	}
	return all.String()
}

// Each line counts once, however it is stored and wherever blocks are cut.
func TestEveryLineCountsOnce(t *testing.T) {
	const n = 3000 // about 3 blocks
	content := lines(n)
	for name, test := range map[string]struct {
		stdin string
		files []string
		want  int
	}{
		"file":           {files: []string{write(t, "audit.log", content, false)}, want: n},
		"gzip":           {files: []string{write(t, "audit.log.gz", content, true)}, want: n},
		"gzip by magic":  {files: []string{write(t, "audit.log", content, true)}, want: n},
		"stdin":          {stdin: content, files: []string{Stdin}, want: n},
		"several":        {stdin: line(1), files: []string{write(t, "a", content, false), Stdin, write(t, "b", content, true)}, want: 2*n + 1},
		"many":           {files: manyFiles(t, 20), want: 20},
		"no newline":     {stdin: strings.TrimSuffix(content, "\n"), files: []string{Stdin}, want: n},
		"empty lines":    {stdin: strings.ReplaceAll(content, "\n", "\r\n\n"), files: []string{Stdin}, want: n},
		"nothing":        {files: []string{Stdin}},
		"only a newline": {stdin: "\n", files: []string{Stdin}},
	} {
		if events, counts := read(t, test.stdin, test.files...); events != test.want || counts.Lines != test.want || counts.Broken != 0 || len(counts.CutOff) != 0 {
			t.Errorf("%s: got %d events, %+v, want %d", name, events, counts, test.want)
		}
	}
}

func manyFiles(t *testing.T, n int) (names []string) {
	for i := range n {
		names = append(names, write(t, fmt.Sprint(i), line(i)+"\n", false))
	}
	return names
}

// Broken lines cost only themselves. The first one is named.
func TestBrokenLinesAreCounted(t *testing.T) {
	all := strings.SplitAfter(lines(4000), "\n")
	all[2500], all[3000] = "{\"kind\":\n", "\xff\xfe\n"
	path := write(t, "audit.log", strings.Join(all, ""), false)
	events, counts := read(t, "", path)
	want := Counts{Lines: 4000, Broken: 2, FirstBroken: path + ", line 2501: malformed JSON at byte 8: missing value"}
	if d := cmp.Diff(want, counts); d != "" || events != 3998 {
		t.Errorf("got %d events, %s", events, d)
	}
}

// A line that does not fit into a block is read. A line above the limit is left out, without the lines next to it.
func TestLongLines(t *testing.T) {
	padded := func(bytes int) string {
		return strings.Replace(line(1), `"annotations":{`, `"annotations":{"x":"`+strings.Repeat("y", bytes)+`",`, 1) + "\n"
	}
	content := line(1) + "\n" + padded(2<<20) + line(2) + "\n" + padded(9<<20) + line(3) + "\n"
	events, counts := read(t, content, Stdin)
	if want := (Counts{Lines: 5, TooLong: 1}); events != 4 || !cmp.Equal(counts, want) {
		t.Errorf("got %d events and %+v, want 4 and %+v", events, counts, want)
	}
	if events, counts := read(t, padded(9<<20), Stdin); events != 0 || counts.TooLong != 1 {
		t.Errorf("got %d events and %+v, want none and one line left out", events, counts)
	}
}

// A file that ends early is named, and its lines count.
func TestTruncatedFileIsReported(t *testing.T) {
	path := write(t, "audit.log.gz", lines(3000), true)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)*9/10], 0o600); err != nil {
		t.Fatal(err)
	}
	events, counts := read(t, "", path)
	if events < 1000 || len(counts.CutOff) != 1 || !strings.Contains(counts.CutOff[0], "audit.log.gz: unexpected EOF") {
		t.Errorf("got %d events and %+v", events, counts)
	}
}

func TestMissingFileIsAnError(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{dir: "is a directory: name its files", filepath.Join(dir, "nothing"): "no such file"} {
		if _, err := Find([]string{name}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// No line causes a panic, and an accepted line has all that the caller relies on.
func FuzzParse(f *testing.F) {
	f.Add(line(1))
	f.Add(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"Panic","user":[],"objectRef":null,"responseStatus":{"code":-1},"requestReceivedTimestamp":"2026-11-20T12:00:00Z","stageTimestamp":"2026-11-20T12:00:00Z"}`)
	f.Fuzz(func(t *testing.T, line string) {
		var e Event
		if err := e.parse([]byte(line)); err == nil && (e.At.IsZero() || e.Received.IsZero() || e.Code < 0) {
			t.Errorf("got %+v of %q", e, line)
		}
	})
}
