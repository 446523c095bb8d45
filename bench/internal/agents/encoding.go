package agents

import (
	"bytes"
	"strconv"
)

// Encoding is an encoding of events and lists.
type Encoding interface {
	mediaType() string
	// cut returns the number of bytes of data that belong to the first frame, and whether the frame ends there. received
	// is the number of bytes of the frame that were received before, and head is their beginning.
	cut(head []byte, received int, data []byte) (n int, complete bool)
	// read reads an event from a frame or its beginning.
	read(frame []byte) event
	// listVersion returns the version of a list from its beginning.
	listVersion(body []byte) uint64
}

// event contains the parts of an event that a client reads.
type event struct {
	kind    eventKind
	version uint64 // 0: none
	expired bool   // whether the event is an ERROR because the version is too old
}

type eventKind int

const (
	objectEvent eventKind = iota
	bookmarkEvent
	errorEvent
)

// JSON is the encoding of most clients. It implements Encoding.
type JSON struct{}

const versionBefore = `"resourceVersion":"`

func (JSON) mediaType() string { return "application/json" }

func (JSON) cut(_ []byte, _ int, data []byte) (n int, complete bool) {
	if at := bytes.IndexByte(data, '\n'); at >= 0 {
		return at + 1, true
	}
	return len(data), false
}

func (JSON) read(frame []byte) event {
	switch {
	case bytes.HasPrefix(frame, []byte(`{"type":"ERROR"`)):
		return event{kind: errorEvent, expired: bytes.Contains(frame, []byte(`"code":410`))}
	case bytes.HasPrefix(frame, []byte(`{"type":"BOOKMARK"`)):
		return event{kind: bookmarkEvent, version: numberAfter(frame, versionBefore)}
	}
	return event{version: numberAfter(frame, versionBefore)}
}

func (JSON) listVersion(body []byte) uint64 { return numberAfter(body, versionBefore) }

// numberAfter returns the number after a text; 0 if there is none.
func numberAfter(data []byte, text string) uint64 {
	at := bytes.Index(data, []byte(text))
	if text == "" || at < 0 {
		return 0
	}
	digits := data[at+len(text):]
	end := bytes.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		return 0 // the number may continue after data
	}
	n, _ := strconv.ParseUint(string(digits[:end]), 10, 64)
	return n
}
