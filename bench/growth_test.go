package main

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	var s sizes
	if err := s.Set("100000,10000"); err != nil || s.String() != "10000,100000" {
		t.Errorf("got %v, %v, want 10000,100000", s, err)
	}
	for _, text := range []string{"", "10000,", "9999", "1e6"} {
		if err := s.Set(text); err == nil {
			t.Errorf("accepted %q as %v", text, s)
		}
	}
}

// Frames arrive in pieces, and may be longer than the buffer. Bookmarks are not counted as events.
func TestSubscriptionsCountCompleteEvents(t *testing.T) {
	sent := time.Now().Add(-time.Minute).UnixNano()
	event := `{"type":"MODIFIED","object":{"metadata":{"annotations":{` + stampBefore + strconv.FormatInt(sent, 10) + `"}},"x":"` + strings.Repeat("x", 20_000) + `"}}` + "\n"
	bookmark := `{"type":"BOOKMARK","object":{}}` + "\n"
	e := &subscriptions{received: map[int64][]time.Duration{}}
	if err := e.read(strings.NewReader(event + bookmark + event + event[:len(event)-1])); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want io.EOF", err)
	}
	if e.count != 2 || len(e.received[sent]) != 2 || e.last()[0] < time.Minute || e.last()[0] > time.Since(time.Unix(0, sent)) {
		t.Errorf("got %d events: %v", e.count, e.received)
	}
	if err := e.read(strings.NewReader(`{"type":"ERROR","object":{}}` + "\n")); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got %v, want an error for an ERROR event", err)
	}
}
