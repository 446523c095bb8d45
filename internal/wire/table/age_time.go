package table

import (
	"time"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// created is where every object keeps the moment that an Age column counts from.
const created = "metadata.creationTimestamp"

// since renders the time passed since the first of paths that holds a timestamp.
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

// timeAt returns the timestamp at a dotted path. A missing one, null and anything else that is no RFC 3339 time report
// false: the text that stands for them, such as <none> or <unknown>, never changes.
func timeAt(object []byte, path string) (time.Time, bool) {
	raw, ok := scan.Lookup(object, path)
	if !ok {
		return time.Time{}, false
	}
	return parseTime(raw)
}

// parseTime reads a quoted RFC 3339 time. The zero time, which stands for "not set", reports false.
func parseTime(raw []byte) (time.Time, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, string(raw[1:len(raw)-1]))
	return t, err == nil && !t.IsZero()
}

// textAt returns the bytes between the quotes of the string at a dotted path, "" when there is none. Escapes stay: the
// callers compare enumerations, or names with names of the same object.
func textAt(object []byte, path string) string {
	raw, ok := scan.Lookup(object, path)
	if !ok || len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	return string(raw[1 : len(raw)-1])
}

// arrayAt returns the JSON array at a dotted path, nil when there is none.
func arrayAt(object []byte, path string) []byte {
	raw, _ := scan.Lookup(object, path)
	return raw
}
