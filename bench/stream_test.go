package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

const bookmark = `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"17","annotations":{` + syncedMark + `}}}}` + "\n"

// zipped compresses each part as a separate gzip member.
func zipped(t *testing.T, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, part := range parts {
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// A stream stays open after its initial events. A reader must return without waiting for more.
func TestUntilSyncedDoesNotWaitForMore(t *testing.T) {
	events := strings.Repeat(`{"type":"ADDED"}`+"\n", 50_000)
	for name, test := range map[string]struct {
		encoding string
		sent     []byte
	}{
		"one member for each flush": {"gzip", zipped(t, events[:1700], events[1700:], bookmark)},
		"all in one member":         {"gzip", zipped(t, events+bookmark)},
		"identity":                  {"", []byte(events + bookmark)},
	} {
		t.Run(name, func(t *testing.T) {
			read, write := io.Pipe()
			defer func() { _ = read.Close() }()
			go func() { _, _ = write.Write(test.sent) }() // the pipe stays open
			var got bytes.Buffer
			if err := untilSynced(plain(read, test.encoding), &got); err != nil {
				t.Fatal(err)
			}
			if got.String() != events+bookmark {
				t.Errorf("%d bytes, not %d", got.Len(), len(events+bookmark))
			}
		})
	}
	if err := untilSynced(strings.NewReader(events), io.Discard); err == nil {
		t.Error("accepted a stream without a bookmark")
	}
}

func TestTokenIsFoundInTheHeadOfAPage(t *testing.T) {
	var noise strings.Builder // incompressible
	for i := range 40_000 {
		fmt.Fprintf(&noise, "%x,", i*i*2654435761)
	}
	page := `{"kind":"PodList","metadata":{"resourceVersion":"1","continue":"abc","remainingItemCount":3},"items":[` + noise.String()
	final := strings.Replace(page, `,"continue":"abc"`, "", 1)
	for name, test := range map[string]struct {
		body []byte
		gzip string
		want string
	}{
		"compressed": {zipped(t, page)[:headBytes], "gzip", "abc"}, "plain": {[]byte(page)[:5000], "", "abc"}, "the last": {[]byte(final), "", ""},
	} {
		r := reading{header: http.Header{"Content-Encoding": {test.gzip}}, body: test.body}
		if got, err := r.token(); got != test.want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
