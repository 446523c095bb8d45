package journal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDocuments checks which documents are valid at a time, over two processes and a new segment.
func TestDocuments(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir)
	d := j.Documents("uid")
	doc := func(path, accept, body string, seconds int) Document {
		return Document{Path: path, Accept: accept, MediaType: "application/json", Body: []byte(body), Time: moment(seconds)}
	}
	put := func(all ...Document) {
		t.Helper()
		for _, document := range all {
			if err := d.Put(t.Context(), document); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(doc("/api", "json", "one", 10), doc("/apis", "json", "groups", 10), doc("/apis", "proto", "binary", 10))
	put(doc("/api", "json", "one", 15), doc("/api", "json", "two", 20), doc("/apis/x", "", "x", 25))
	size := listed2(t, dir)[0].Size
	put(doc("/api", "json", "two", 35))
	if got := listed2(t, dir)[0].Size; got != size {
		t.Errorf("got %d bytes after an unchanged document, want %d", got, size)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = j.Documents("uid")
	put(doc("/api", "json", "two", 40), doc("/api", "json", "three", 50), doc("/empty", "", "", 50))
	for seconds, want := range map[int]string{
		5: "/api:one /apis:groups /apis:binary /apis/x:x", 10: "/api:one /apis:groups /apis:binary /apis/x:x",
		20: "/api:two /apis:groups /apis:binary /apis/x:x", 25: "/api:two /apis:groups /apis:binary /apis/x:x",
		45: "/api:two /apis:groups /apis:binary /apis/x:x /empty:",
		50: "/api:three /apis:groups /apis:binary /apis/x:x /empty:",
		99: "/api:three /apis:groups /apis:binary /apis/x:x /empty:",
	} {
		all, err := DocumentsAt(t.Context(), dir, moment(seconds))
		var got []string
		for _, d := range all {
			got = append(got, d.Path+":"+string(d.Body))
		}
		if text := strings.Join(got, " "); err != nil || text != want {
			t.Errorf("at %d: got %s, %v, want %s", seconds, text, err, want)
		}
	}
	all, err := DocumentsAt(t.Context(), dir, moment(40))
	if diff := cmp.Diff(doc("/api", "json", "two", 40), all[0]); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if s := listed2(t, dir); len(s) != 2 {
		t.Errorf("got %d segments, want 2", len(s))
	}
}

// listed2 returns the segments of documents.
func listed2(t *testing.T, dir string) []Segment {
	t.Helper()
	all, err := segments(dir + "/" + documentsDir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDocumentsOfAnotherCluster checks that documents of a cluster do not remain valid in another one, and that many
// changes begin new segments that have the same documents.
func TestDocumentsOfAnotherCluster(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir)
	put := func(cluster, path string, size, count int) {
		t.Helper()
		d := j.Documents(cluster)
		for i := range count {
			body := fmt.Appendf(make([]byte, size), "%d", i)
			if err := d.Put(t.Context(), Document{Path: path, Body: body, Time: epoch.Add(time.Duration(i))}); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	put("one", "/first", 10, 1)
	put("one", "/second", 100_000, 200)
	all, err := DocumentsAt(t.Context(), dir, epoch.Add(time.Hour))
	if err != nil || len(all) != 2 {
		t.Errorf("got %d documents, %v, want 2", len(all), err)
	}
	put("two", "/third", 10, 1)
	if all, err = DocumentsAt(t.Context(), dir, epoch.Add(time.Hour)); err != nil || len(all) != 1 || all[0].Path != "/third" {
		t.Errorf("got %v, %v, want the document of the other cluster", all, err)
	}
}
