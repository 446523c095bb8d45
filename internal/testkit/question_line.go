package testkit

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// headerMark stands before every header of a question's line; no header's value that a question has contains it.
const headerMark = " | "

// Line is the question in one line: method, path with query, headers in order of their names. ParseQuestion reads it.
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

// ParseQuestion reads a question's line.
func ParseQuestion(line string) (Question, error) {
	parts := strings.Split(line, headerMark)
	method, path, ok := strings.Cut(parts[0], " ")
	if !ok || !strings.HasPrefix(path, "/") {
		return Question{}, fmt.Errorf("no method and path: %q", line)
	}
	q := Question{Method: method, Path: path, Header: http.Header{}}
	for _, part := range parts[1:] {
		name, value, ok := strings.Cut(part, ":")
		if !ok {
			return Question{}, fmt.Errorf("no header: %q", part)
		}
		q.Header.Add(name, strings.TrimPrefix(value, " "))
	}
	return q, nil
}
