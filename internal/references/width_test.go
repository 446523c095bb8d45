package references

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// width is the maximum width of prose in characters. A tab counts as one.
const width = 120

// checkWidth finds lines of prose that are too long and could be broken.
func (t *tree) checkWidth(name string) ([]string, error) {
	if path.Ext(name) == ".md" {
		return t.checkMarkdownWidth(name)
	}
	return t.checkCommentWidth(name)
}

// checkCommentWidth checks lines that contain a comment, alone or after code. Like gofmt, it ignores directives and
// text after a tab.
func (t *tree) checkCommentWidth(name string) ([]string, error) {
	set, file, err := t.parse(name)
	if err != nil {
		return nil, err
	}
	source, err := fs.ReadFile(t.fs, name)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(source), "\n")
	var breaches []string
	for _, group := range file.Comments {
		for _, comment := range group.List {
			n := set.Position(comment.Pos()).Line
			if line := lines[n-1]; tooWide(line) && breakable(comment.Text, line) {
				breaches = append(breaches, tooLong(name, n))
			}
		}
	}
	return breaches, nil
}

// breakable reports whether a comment can be shortened: it has a second word, or follows code.
func breakable(comment, line string) bool {
	body := withoutSlashes(comment)
	if body == "" || strings.HasPrefix(body, "\t") {
		return false
	}
	alone := strings.HasPrefix(strings.TrimSpace(line), "//")
	return !alone || len(strings.Fields(body)) > 1
}

// checkMarkdownWidth ignores tables, headings, and code in blocks or after four spaces.
func (t *tree) checkMarkdownWidth(name string) ([]string, error) {
	body, err := fs.ReadFile(t.fs, name)
	if err != nil {
		return nil, err
	}
	var breaches []string
	block, code, last := false, false, ""
	for i, line := range strings.Split(string(body), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			block = !block
		}
		code = strings.HasPrefix(line, "    ") && (code || strings.TrimSpace(last) == "")
		last = line
		if !block && !code && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "#") && tooWide(line) &&
			len(markdownWords(line)) > 1 {
			breaches = append(breaches, tooLong(name, i+1))
		}
	}
	return breaches, nil
}

var (
	listMark = regexp.MustCompile(`^\s*(?:[-*+]|\d+\.)\s+`)
	// unbroken matches code spans and links, inside of which a line is never broken.
	unbroken = regexp.MustCompile("`[^`]*`|\\[[^\\]]*\\]\\([^)]*\\)")
)

// markdownWords splits a line where it could be broken.
func markdownWords(line string) []string {
	line = listMark.ReplaceAllString(line, "")
	return strings.Fields(unbroken.ReplaceAllString(line, "x"))
}

func tooWide(line string) bool { return utf8.RuneCountInString(line) > width }

func tooLong(name string, line int) string {
	return text{file: name, line: line}.breach(0, "longer than %d columns", width)
}
