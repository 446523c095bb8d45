package table

import (
	"time"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

const created = "metadata.creationTimestamp"

// since returns a renderer of the time since the first timestamp found at one of the paths.
func since(paths ...string) renderer {
	return func(object, _ []byte, at *Clock) (string, bool) {
		for _, path := range paths {
			if then, ok := timeAt(object, path); ok {
				return at.since(then), true
			}
		}
		return "", false
	}
}

// timeAt returns the timestamp at a dotted path. It returns false unless the value is an RFC 3339 time. Without a time,
// the text of a cell, for example <none>, never changes.
func timeAt(object []byte, path string) (time.Time, bool) {
	raw, ok := scan.Lookup(object, path)
	if !ok {
		return time.Time{}, false
	}
	return parseTime(raw)
}

// parseTime parses a quoted RFC 3339 time. It returns false for the zero time, which means "not set".
func parseTime(raw []byte) (time.Time, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, string(raw[1:len(raw)-1]))
	return t, err == nil && !t.IsZero()
}

// textAt returns the bytes between the quotes of the string at a dotted path, or "" if there is no string. It does not
// unescape: callers compare enumerations, or names of the same object.
func textAt(object []byte, path string) string {
	raw, ok := scan.Lookup(object, path)
	if !ok || len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	return string(raw[1 : len(raw)-1])
}

// arrayAt returns the JSON at a dotted path. scan.Elements yields nothing unless the result is an array.
func arrayAt(object []byte, path string) []byte {
	raw, _ := scan.Lookup(object, path)
	return raw
}
