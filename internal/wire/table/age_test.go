package table

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// agesDir contains the recordings of testdata/ages/record.py from kube-apiserver 1.37.
const agesDir = "../../../testdata/ages"

// recording is one resource's Table as kube-apiserver printed it at two times.
type recording struct {
	Group, Resource string
	At              time.Time // time of After
	DatePaths       []string
	Before, After   struct {
		ColumnDefinitions []Column
		Rows              []struct{ Cells, Object json.RawMessage }
	}
}

func (r *recording) ages() *Ages {
	return AgesFor(r.Group, r.Resource, r.Before.ColumnDefinitions, r.DatePaths)
}

func readRecordings(t testing.TB) []*recording {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(agesDir, "*_*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", agesDir, err)
	}
	var all []*recording
	for _, file := range files {
		r := &recording{}
		readJSON(t, file, r)
		if len(r.Before.Rows) != len(r.After.Rows) {
			t.Fatalf("%s: got %d rows before, %d after", file, len(r.Before.Rows), len(r.After.Rows))
		}
		all = append(all, r)
	}
	return all
}

func readJSON(t testing.TB, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// From the rows of the first response and the time of the second, AppendCells makes the same cells as the second
// response.
func TestAppendCellsMatchesKubeAPIServer(t *testing.T) {
	for _, r := range readRecordings(t) {
		t.Run(r.Group+"/"+r.Resource, func(t *testing.T) {
			ages := r.ages()
			for i, row := range r.Before.Rows {
				got := ages.AppendCells([]byte("before"), row.Object, row.Cells, &Clock{Now: r.At})
				if diff := cmp.Diff("before"+string(r.After.Rows[i].Cells), string(got)); diff != "" {
					t.Errorf("row %d, first printed as %s (-server +ours):\n%s", i, row.Cells, diff)
				}
			}
		})
	}
}

// definitions are the columns of one built-in resource.
type definitions struct {
	Group, Version, Resource string
	ColumnDefinitions        []Column
}

func readDefinitions(t testing.TB) []definitions {
	t.Helper()
	var all []definitions
	readJSON(t, filepath.Join(agesDir, "columns.json"), &all)
	return all
}

// Every cell with an age of every built-in kind changes in the recordings, so TestAppendCellsMatchesKubeAPIServer tests
// it.
func TestRecordingsCoverEveryStaleCell(t *testing.T) {
	changed := map[string]bool{}
	for _, r := range readRecordings(t) {
		for i := range r.Before.Rows {
			before, after := cellsOf(t, r.Before.Rows[i].Cells), cellsOf(t, r.After.Rows[i].Cells)
			for j := range before {
				if string(before[j]) != string(after[j]) {
					changed[fmt.Sprintf("%s/%s cell %d", r.Group, r.Resource, j)] = true
				}
			}
		}
	}
	for _, d := range readDefinitions(t) {
		ages := AgesFor(d.Group, d.Resource, d.ColumnDefinitions, nil)
		if ages == nil {
			continue
		}
		for _, stale := range ages.cells {
			if name := fmt.Sprintf("%s/%s cell %d", d.Group, d.Resource, stale.index); !changed[name] {
				t.Errorf("no recording shows a change of %s", name)
			}
		}
	}
}

func cellsOf(t *testing.T, row json.RawMessage) []json.RawMessage {
	t.Helper()
	var cells []json.RawMessage
	if err := json.Unmarshal(row, &cells); err != nil {
		t.Fatal(err)
	}
	return cells
}

// Every column whose name suggests a time is either rendered or known to be fixed. The test fails for a new column of a
// new Kubernetes version when testdata/ages/columns.json is recorded again.
func TestEveryTimeColumnIsHandled(t *testing.T) {
	suspicious := regexp.MustCompile(`(?i)\bage\b|seen|time|date|duration|\blast|since|ago|added|created|completed|` +
		`expir|expected|renew|heartbeat|restarts|responder status$`)
	fixed := map[string]string{
		"Container-Runtime": "a version",
		"Created At":        "an RFC 3339 date",
		"RequestedDuration": "the requested lifetime of a certificate",
		"Timezone":          "a name",
		"Up-to-date":        "a count",
		"Storage":           "a size",
	}
	for _, d := range readDefinitions(t) {
		known := map[int]bool{}
		if ages := AgesFor(d.Group, d.Resource, d.ColumnDefinitions, nil); ages != nil {
			for _, stale := range ages.cells {
				known[stale.index] = true
			}
		}
		for i, column := range d.ColumnDefinitions {
			if suspicious.MatchString(column.Name) && fixed[column.Name] == "" && !known[i] {
				t.Errorf("%s/%s %s: column %q is neither rendered nor listed as fixed", d.Group, d.Version, d.Resource, column.Name)
			}
		}
	}
}

func TestKindsWithoutAges(t *testing.T) {
	name, date := Column{Name: "Name", Type: "string"}, Column{Name: "Created At", Type: "date"}
	if a := AgesFor("rbac.authorization.k8s.io", "roles", []Column{name, date}, nil); a != nil {
		t.Errorf("roles: got %+v, want nil", a)
	}
	text := Column{Name: "Age", Type: "string"}
	if a := AgesFor("example.com", "things", []Column{name, text}, []string{"", ".metadata.creationTimestamp"}); a != nil {
		t.Errorf("a custom column of type string: got %+v, want nil", a)
	}
	var none *Ages
	if got := string(none.AppendCells([]byte("x"), nil, []byte(`["a","5m"]`), &Clock{Now: time.Now()})); got != `x["a","5m"]` {
		t.Errorf("nil Ages: got %s", got)
	}
	if got := none.Frozen(); got != nil {
		t.Errorf("nil Ages: got frozen columns %q", got)
	}
}

// The source of a custom column is in the definition, or in the description that the server derives from it.
func TestAgesForCustomColumns(t *testing.T) {
	const object = `{"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"},"status":{"at":"2026-01-01T01:00:00Z"}}`
	now := time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		description, path, want string
		frozen                  []string
	}{
		"given path":          {path: ".status.at", want: `["60m"]`},
		"path in description": {description: pathDescription + ".status.at", want: `["60m"]`},
		"given path wins":     {description: pathDescription + ".metadata.creationTimestamp", path: ".status.at", want: `["60m"]`},
		"default Age":         {description: createdDescription + " It is not guaranteed ...", want: `["120m"]`},
		"other description":   {description: "When it was.", want: `["1s"]`, frozen: []string{"Col"}},
		"unsupported path":    {path: "..at", want: `["1s"]`, frozen: []string{"Col"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			column := Column{Name: "Col", Type: "date", Description: test.description}
			ages := AgesFor("example.com", "things", []Column{column}, []string{test.path})
			got := ages.AppendCells(nil, []byte(object), []byte(`["1s"]`), &Clock{Now: now})
			if string(got) != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if diff := cmp.Diff(test.frozen, ages.Frozen()); diff != "" {
				t.Errorf("frozen columns (-want +got):\n%s", diff)
			}
		})
	}
}

// Malformed rows are copied unchanged.
func TestAppendCellsKeepsMalformedRows(t *testing.T) {
	ages := AgesFor("", "things", []Column{{Name: "Name"}, {Name: "Age"}}, nil)
	const object = `{"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"}}`
	for _, test := range []struct{ cells, object string }{
		{``, object}, {`null`, object}, {`[]`, object}, {`["a"]`, object}, {`["a","1s`, object}, {`["a`, object},
		{`["a","1s"]`, ``}, {`["a","1s"]`, `{}`}, {`["a","1s"]`, `{"metadata":{"creationTimestamp":null}}`},
		{`["a","1s"]`, `{"metadata":{"creationTimestamp":"yesterday"}}`}, {`["a","1s"]`, `{"metadata":{"creationTimestamp":7}}`},
	} {
		got := ages.AppendCells(nil, []byte(test.object), []byte(test.cells), &Clock{Now: time.Now()})
		if string(got) != test.cells {
			t.Errorf("object %s: got cells %s, want %s", test.object, got, test.cells)
		}
	}
}

// All bytes of the other cells are unchanged.
func TestAppendCellsKeepsOtherCells(t *testing.T) {
	ages := AgesFor("", "things", []Column{{Name: "Name"}, {Name: "Age"}, {Name: "Else"}}, nil)
	object := []byte(`{"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"}}`)
	cells := ` ["a\",\"b]\u003c" , "1s", {"x":[1,{"y":"]"}]},-1.5e3,null ] `
	got := ages.AppendCells(nil, object, []byte(strings.TrimSpace(cells)),
		&Clock{Now: time.Date(2026, 1, 1, 0, 5, 0, 0, time.UTC)})
	if want := strings.Replace(strings.TrimSpace(cells), "1s", "5m", 1); string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzAppendCells(f *testing.F) {
	for _, r := range readRecordings(f) {
		for _, row := range r.Before.Rows {
			f.Add(r.Group, r.Resource, []byte(row.Object), []byte(row.Cells))
		}
	}
	columns := map[string][]Column{}
	for _, d := range readDefinitions(f) {
		columns[d.Group+"/"+d.Resource] = d.ColumnDefinitions
	}
	f.Fuzz(func(t *testing.T, group, resource string, object, cells []byte) {
		ages := AgesFor(group, resource, columns[group+"/"+resource], nil)
		got := ages.AppendCells(nil, object, cells, &Clock{Now: time.Unix(1<<31, 0)})
		var before, after []json.RawMessage
		if json.Unmarshal(cells, &before) != nil {
			return
		}
		if err := json.Unmarshal(got, &after); err != nil || len(before) != len(after) {
			t.Errorf("got %s from %s: %v", got, cells, err)
		}
	})
}

// BenchmarkAppendCells renders rows with one age, and rows with restarts.
func BenchmarkAppendCells(b *testing.B) {
	for _, r := range readRecordings(b) {
		if name := r.Group + "/" + r.Resource; name != "/configmaps" && name != "/pods" && name != "/events" {
			continue
		}
		b.Run(r.Resource, func(b *testing.B) {
			ages, buffer := r.ages(), []byte(nil)
			b.ReportAllocs()
			for i := range b.N {
				row := r.Before.Rows[i%len(r.Before.Rows)]
				buffer = ages.AppendCells(buffer[:0], row.Object, row.Cells, &Clock{Now: r.At})
			}
		})
	}
}
