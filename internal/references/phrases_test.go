package references

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"testing"
)

// phrase is a wording that a reader stops at, with the wording to use.
type phrase struct {
	pattern *regexp.Regexp
	instead string
}

// phrases are checked in Markdown, comments, and string literals of Go files.
var phrases = []phrase{
	{wording(`anew`), "again"},
	{wording(`of before`), "previous"},
	{wording(`therein`), "in it"},
	{wording(`by and by`), "gradually"},
	{wording(`in vain`), "without success"},
	{wording(`mend(s|ed|ing)?`), "fix"},
	{wording(`(is|are|was|were|be|been|being) let in`), "is admitted"},
	{wording(`(is|are|was|were|be|been|being) told`), "is notified"},
	{wording(`hears?`), "receives"},
	{wording(`said of`), "true of"},
	{wording(`besides`), "also, or except"},
	{wording(`as far as`), "the condition"},
	{wording(`whoever|nobody|everybody`), "the actor: caller, client, upstream, operator"},
	{wording(`who(ever)? asks`), "the caller"},
	{wording(`what (is|was|were|are) (cached|proven|asked|trusted|kept)`), "the noun"},
	{wording(`fences?|fenced`), "progress watch"},
	{wording(`speakers?`), "upstream credentials"},
	{wording(`crowd(s|ed)?`), "concurrency limit"},
	{wording(`partings?`), "watch termination"},
	{wording(`dear`), "costly"},
	{wording(`prevent(s|ed)? that`), "keep from, or otherwise"},
	{wording(`(at most|up to) most`), "the maximum, with the name of the argument"},
}

func wording(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + pattern + `)\b`) }

// checkPhrases finds wordings that CONTRIBUTING.md rules out.
func (t *tree) checkPhrases() ([]string, error) {
	texts, err := t.texts()
	if err != nil {
		return nil, err
	}
	for _, name := range t.files(".go") {
		literals, err := t.literals(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, literals...)
	}
	var breaches []string
	for _, x := range texts {
		if foreignPhrases[x.file] != "" {
			continue
		}
		for _, p := range phrases {
			for _, at := range p.pattern.FindAllStringIndex(x.body, -1) {
				breaches = append(breaches, x.breach(at[0], "write %s instead of %q", p.instead, x.body[at[0]:at[1]]))
			}
		}
	}
	return breaches, nil
}

// literals returns the string literals of a file as text, except import paths and struct tags.
func (t *tree) literals(name string) ([]text, error) {
	set, file, err := t.parse(name)
	if err != nil {
		return nil, err
	}
	var texts []text
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				break
			}
			if value, err := strconv.Unquote(n.Value); err == nil {
				texts = append(texts, text{name, set.Position(n.Pos()).Line, value})
			}
		}
		return true
	})
	return texts, nil
}

// foreignPhrases are files that quote what they must not say, with the reason.
var foreignPhrases = map[string]string{
	"internal/references/phrases_test.go": "lists the phrases",
	"CHANGELOG.md":                        "lists old names",
	"CONTRIBUTING.md":                     "quotes wordings that are ruled out",
}

// Wordings that CONTRIBUTING.md rules out do not appear in comments, strings and documents.
func TestPhrasesArePlain(t *testing.T) {
	breaches, err := repository(t).checkPhrases()
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range breaches {
		t.Error(breach)
	}
}

func TestPhrasesAreFound(t *testing.T) {
	tests := []struct{ name, path, body, want string }{
		{"in a document", "README.md", "One.\nIt is made anew.", "README.md:2: write again instead of \"anew\""},
		{"in a comment", "cache/a.go", "package cache\n\n// Mended by hand.\nvar x int", "cache/a.go:3: write fix instead of \"Mended\""},
		{"in a string", "cache/a.go", "package cache\n\nvar x = `the\nfence`", "cache/a.go:4: write progress watch instead of \"fence\""},
		{"in a tag or an import", "cache/a.go", "package cache\n\nimport _ \"dear\"\n\ntype x struct{ y int `json:\"fence\"` }", ""},
		{"in an identifier", "cache/a.go", "package cache\n\nvar anew int", ""},
		{"in a longer word", "README.md", "Defences, amendments and endearing crowdfunding.", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := goodTree()
			files[test.path] = file(test.body)
			got, err := treeOf(t, files).checkPhrases()
			if err != nil {
				t.Fatal(err)
			}
			if want := test.want; want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0] != want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
