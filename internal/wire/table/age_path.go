package table

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// jsonPath is the subset of kubectl's JSONPath that definitions use for date columns:
//
//	path  = step { step }
//	step  = "." name              a member; a backslash escapes the next character
//	      | "['" name "']"        a member, written in brackets
//	      | "[" index "]"         an element, from the end when negative; "[-1:]" is "[-1]"
//	      | "[*]"                 each element
//	      | "[?(@" path "==" quoted ")]"   each element whose text at path is equal
//
// As in kube-apiserver's cells, only the first result counts.
type jsonPath []pathStep

// pathStep selects parts of a JSON value. find applies the path rest to these parts, and returns the first result.
type pathStep interface {
	find(value []byte, rest jsonPath) ([]byte, bool)
}

type (
	memberStep string
	indexStep  int
	everyStep  struct{}
	filterStep struct {
		left  jsonPath
		right string
	}
)

var (
	nameSyntax   = regexp.MustCompile(`^\.((?:\\.|[^\\.,\[\]$@{}\s*])+)`)
	quotedSyntax = regexp.MustCompile(`^\['([^']+)'\]`)
	indexSyntax  = regexp.MustCompile(`^\[(-?[0-9]{1,9}|-1:)\]`)
	everySyntax  = regexp.MustCompile(`^\[\*\]`)
	filterSyntax = regexp.MustCompile(`^\[\?\(@((?:\.[A-Za-z0-9_-]+)+)\s*==\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*\)\]`)
)

// parsePath parses a JSONPath. It returns false for the empty path and for unsupported syntax: slices, unions,
// comparisons other than ==, and recursive descent. The first result of recursive descent is random in kube-apiserver.
func parsePath(text string) (jsonPath, bool) {
	var path jsonPath
	for text != "" {
		steps, length := parseStep(text)
		if length == 0 {
			return nil, false
		}
		path, text = append(path, steps...), text[length:]
	}
	return path, len(path) > 0
}

// parseStep returns the steps at the start of text and their length, or 0 if there is no step.
func parseStep(text string) (jsonPath, int) {
	if m := nameSyntax.FindStringSubmatch(text); m != nil {
		return jsonPath{memberStep(strings.ReplaceAll(m[1], `\`, ""))}, len(m[0])
	}
	if m := quotedSyntax.FindStringSubmatch(text); m != nil {
		if steps, ok := parsePath("." + m[1]); ok {
			return steps, len(m[0])
		}
		return nil, 0
	}
	if m := indexSyntax.FindStringSubmatch(text); m != nil {
		index, err := strconv.Atoi(strings.TrimSuffix(m[1], ":"))
		if err != nil {
			return nil, 0
		}
		return jsonPath{indexStep(index)}, len(m[0])
	}
	if m := everySyntax.FindString(text); m != "" {
		return jsonPath{everyStep{}}, len(m)
	}
	if m := filterSyntax.FindStringSubmatch(text); m != nil {
		if left, ok := parsePath(m[1]); ok {
			return jsonPath{filterStep{left: left, right: m[2] + m[3]}}, len(m[0])
		}
	}
	return nil, 0
}

// find returns the raw JSON of the path's first result.
func (p jsonPath) find(value []byte) ([]byte, bool) {
	if len(p) == 0 {
		return value, true
	}
	return p[0].find(value, p[1:])
}

func (s memberStep) find(value []byte, rest jsonPath) ([]byte, bool) {
	part, ok := scan.Member(value, string(s))
	if !ok {
		return nil, false
	}
	return rest.find(part)
}

func (s indexStep) find(value []byte, rest jsonPath) ([]byte, bool) {
	index := int(s)
	if index < 0 {
		for range scan.Elements(value) {
			index++
		}
	}
	for part := range scan.Elements(value) {
		if index == 0 {
			return rest.find(part)
		}
		index--
	}
	return nil, false
}

func (everyStep) find(value []byte, rest jsonPath) ([]byte, bool) {
	for part := range scan.Elements(value) {
		if found, ok := rest.find(part); ok {
			return found, true
		}
	}
	return nil, false
}

func (s filterStep) find(value []byte, rest jsonPath) ([]byte, bool) {
	for part := range scan.Elements(value) {
		left, ok := s.left.find(part)
		if !ok || len(left) < 2 || left[0] != '"' || string(left[1:len(left)-1]) != s.right {
			continue
		}
		if found, ok := rest.find(part); ok {
			return found, true
		}
	}
	return nil, false
}
