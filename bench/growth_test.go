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
		t.Errorf("%v, %v", s, err)
	}
	for _, text := range []string{"", "10000,", "9999", "1e6"} {
		if err := s.Set(text); err == nil {
			t.Errorf("%q is taken for %v", text, s)
		}
	}
}

// Frames come in pieces, and longer ones than are held at a time; bookmarks are no events.
func TestEarsHearEventsToTheirEnd(t *testing.T) {
	sent := time.Now().Add(-time.Minute).UnixNano()
	event := `{"type":"MODIFIED","object":{"metadata":{"annotations":{` + stampBefore + strconv.FormatInt(sent, 10) + `"}},"x":"` + strings.Repeat("x", 20_000) + `"}}` + "\n"
	bookmark := `{"type":"BOOKMARK","object":{}}` + "\n"
	e := &ears{heard: map[int64][]time.Duration{}}
	if err := e.hear(strings.NewReader(event + bookmark + event + event[:len(event)-1])); !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
	if e.count != 2 || len(e.heard[sent]) != 2 || e.last()[0] < time.Minute || e.last()[0] > time.Since(time.Unix(0, sent)) {
		t.Errorf("heard %d events: %v", e.count, e.heard)
	}
	if err := e.hear(strings.NewReader(`{"type":"ERROR","object":{}}` + "\n")); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("an error is heard as %v", err)
	}
}
