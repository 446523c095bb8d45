package handlers

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Watches that share frames send all of them in order, alone and in bursts, each in its own representation, with
// bookmarks between them.
func TestWatchesThatShareFramesSendAllInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", usual)
		f.get(t, reads[0])
		const target = "/api/v1/configmaps?watch=1&resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=100"
		bodies := make(chan [2]string)
		for _, accept := range []string{"application/json", "application/json", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"} {
			response := f.ask(t, target, accept)
			go func() {
				body, _ := io.ReadAll(response.Body) // missing events are detected below
				bodies <- [2]string{accept, string(body)}
			}()
		}
		synctest.Wait()
		for i := range 20 {
			f.Put(fmt.Sprint("ns/", i), usual)
			if i%5 == 0 {
				<-time.After(7 * time.Second)
			}
		}
		seen := map[string]string{}
		for range 3 {
			b := <-bodies
			accept, body := b[0], b[1]
			if other, twice := seen[accept]; twice && withoutBookmarks(other) != withoutBookmarks(body) {
				t.Errorf("%s: got different events from two watches", accept)
			}
			seen[accept] = body
			for i := range 20 {
				if n := strings.Count(body, fmt.Sprintf(`"name":"%d"`, i)); n != 1 {
					t.Errorf("%s: got object %d %d times, want once", accept, i, n)
				}
			}
			inOrder(t, body)
		}
	})
}

// withoutBookmarks returns the events of objects. Bookmarks of two watches may come between different events.
func withoutBookmarks(body string) string {
	var kept []string
	for line := range strings.Lines(body) {
		if !strings.Contains(line, "BOOKMARK") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// inOrder fails the test if a resourceVersion decreases.
func inOrder(t *testing.T, body string) {
	t.Helper()
	last := 0
	for line := range strings.Lines(body) {
		_, rest, _ := strings.Cut(line, `"resourceVersion":"`)
		var rv int
		if _, err := fmt.Sscanf(rest, "%d", &rv); err != nil || rv < last {
			t.Errorf("got %d after %d: %q", rv, last, line)
		}
		last = rv
	}
}
