package handlers

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Watches from one client address send their bookmarks at the same time, and those from another address at another
// time.
func TestBookmarksOfAConnectionAreSentTogether(t *testing.T) {
	const client, other = "192.0.2.1:1001", "192.0.2.1:1002"
	inBubble(t, func(t *testing.T, f *facade) {
		target := fmt.Sprint("/api/v1/configmaps?watch=1&allowWatchBookmarks=true&resourceVersion=", f.Put("ns/a", "1"))
		f.get(t, reads[0]) // fills the lane
		addressed := testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.RemoteAddr = r.UserAgent() // all connections in memory have the same address
			f.handler.ServeHTTP(w, r)
		}))
		sinceTick := (time.Duration(time.Now().UnixNano()) - bookmarkPhase(client)) % time.Second
		<-time.After(time.Second - sinceTick)
		var sent []<-chan time.Time
		for _, address := range []string{client, client, other} {
			sent = append(sent, bookmarkOf(t, addressed, address, target))
			<-time.After(400 * time.Millisecond)
		}
		f.Put("ns/a", "2") // bookmarks need a higher version
		first, second, third := <-sent[0], <-sent[1], <-sent[2]
		if !second.Equal(first) || third.Sub(first)%time.Second == 0 {
			t.Errorf("got bookmarks at %s and %s, and at %s from another address", first, second, third)
		}
	})
}

// bookmarkOf opens a watch from an address, and sends the time of its first bookmark.
func bookmarkOf(t *testing.T, client *http.Client, address, target string) <-chan time.Time {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("User-Agent", address)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan time.Time, 1)
	go func() {
		defer close(sent)
		defer response.Body.Close()
		for frames := bufio.NewScanner(response.Body); frames.Scan(); {
			if strings.Contains(frames.Text(), "BOOKMARK") {
				sent <- time.Now()
				return
			}
		}
	}()
	return sent
}
