package testkit

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// headerMark precedes every header in a question's line. No header value of a question contains it.
const headerMark = " | "

// Line returns the question as one line: method, path with query, headers sorted by name. ParseQuestion parses it.
func (q Question) Line() string {
	var b strings.Builder
	b.WriteString(q.method() + " " + q.Path)
	for _, name := range slices.Sorted(maps.Keys(q.Header)) {
		for _, value := range q.Header[name] {
			b.WriteString(headerMark + name + ": " + value)
		}
	}
	return b.String()
}

// ParseQuestion parses a question's line.
func ParseQuestion(line string) (Question, error) {
	parts := strings.Split(line, headerMark)
	method, path, ok := strings.Cut(parts[0], " ")
	if !ok || !strings.HasPrefix(path, "/") {
		return Question{}, fmt.Errorf("parse question %q: missing method or path", line)
	}
	q := Question{Method: method, Path: path, Header: http.Header{}}
	for _, part := range parts[1:] {
		name, value, ok := strings.Cut(part, ":")
		if !ok {
			return Question{}, fmt.Errorf("parse question: malformed header %q", part)
		}
		q.Header.Add(name, strings.TrimPrefix(value, " "))
	}
	return q, nil
}
