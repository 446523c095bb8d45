package main

import (
	"errors"
	"fmt"
	"hash/maphash"
	"testing"
	"time"
)

func frame(stamp int, rest string) []byte {
	return fmt.Appendf(nil, `{"type":"MODIFIED","object":{"metadata":{"annotations":{%s%d"},"managedFields":[{"f:%s":{}}]}%s}}`+"\n",
		stampBefore, stamp, stampKey, rest)
}

func watching(t *testing.T, seed maphash.Seed, at time.Time, frames ...[]byte) *observer {
	t.Helper()
	o := &observer{server: &server{name: "test"}, seed: seed, seen: map[int64]arrival{}}
	for _, f := range frames {
		if err := o.note(f, at); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func TestBetweenReturnsTheDelayOfEachEvent(t *testing.T) {
	seed, sent := maphash.MakeSeed(), time.Unix(0, 1000)
	direct := watching(t, seed, sent.Add(30*time.Millisecond), frame(1000, ""))
	facade := watching(t, seed, sent.Add(32*time.Millisecond), frame(1000, ""))
	d, err := between(direct.seen, facade.seen)
	if err != nil {
		t.Fatal(err)
	}
	if d.direct[0] != 30*time.Millisecond || d.facade[0] != 32*time.Millisecond || d.added[0] != 2*time.Millisecond {
		t.Errorf("got %v", d)
	}
}

func TestBetweenRejectsMissingAndDifferentEvents(t *testing.T) {
	seed, now := maphash.MakeSeed(), time.Unix(0, 5000)
	direct := watching(t, seed, now, frame(1, ""), frame(2, ""))
	for name, facade := range map[string]*observer{
		"missing": watching(t, seed, now, frame(1, "")),
		"another": watching(t, seed, now, frame(1, ""), frame(2, `,"spec":{}`)),
	} {
		_, err := between(direct.seen, facade.seen)
		if _, ok := errors.AsType[*answerError](err); !ok {
			t.Errorf("%s event: got %v, want an answerError", name, err)
		}
	}
	for name, f := range map[string][]byte{
		"repeated": frame(2, ""), "unstamped": []byte(`{"type":"BOOKMARK"}`), "unreadable": []byte(`{` + stampBefore + `x"}`),
	} {
		if _, ok := errors.AsType[*answerError](direct.note(f, now)); !ok {
			t.Errorf("accepted a frame that is %s", name)
		}
	}
}
