package references

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// text is a Markdown file, or one comment of a Go file without its slashes.
type text struct {
	file string // relative to the root of the repository
	line int    // number of the first line
	body string
}

// dir returns the directory of the text's file.
func (t text) dir() string { return path.Dir(t.file) }

// breach returns a message with the position of an offset in the body.
func (t text) breach(offset int, format string, args ...any) string {
	line := t.line + strings.Count(t.body[:offset], "\n")
	return fmt.Sprintf("%s:%d: %s", t.file, line, fmt.Sprintf(format, args...))
}

// texts returns all texts of a tree, sorted by file and line.
func (t *tree) texts() ([]text, error) {
	var texts []text
	for _, name := range t.files(".md") {
		body, err := fs.ReadFile(t.fs, name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text{name, 1, string(body)})
	}
	for _, name := range t.files(".go") {
		comments, err := t.comments(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, comments...)
	}
	slices.SortFunc(texts, func(a, b text) int {
		if a.file == b.file {
			return a.line - b.line
		}
		return strings.Compare(a.file, b.file)
	})
	return texts, nil
}

func (t *tree) comments(name string) ([]text, error) {
	set, file, err := t.parse(name)
	if err != nil {
		return nil, err
	}
	var texts []text
	for _, group := range file.Comments {
		var lines []string
		for _, comment := range group.List {
			lines = append(lines, withoutSlashes(comment.Text))
		}
		texts = append(texts, text{name, set.Position(group.Pos()).Line, strings.Join(lines, "\n")})
	}
	return texts, nil
}

// withoutSlashes returns the text of a comment; "" for a directive.
func withoutSlashes(comment string) string {
	if strings.HasPrefix(comment, "//go:") || strings.HasPrefix(comment, "//nolint") {
		return ""
	}
	return strings.TrimPrefix(comment, "//")
}

func (t *tree) parse(name string) (*token.FileSet, *ast.File, error) {
	source, err := fs.ReadFile(t.fs, name)
	if err != nil {
		return nil, nil, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	return set, file, err
}
