package references

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// Each case adds one file with one mistake to a correct tree.
func TestCheckFindsMissingThings(t *testing.T) {
	tests := []struct{ name, path, body, want string }{
		{"a file", "README.md", "See `cache/lane.go`.", "README.md:1: there is no file or directory cache/lane.go"},
		{"a file in prose", "README.md", "one\ntwo, see cache/lane.go.", "README.md:2: there is no file or directory cache/lane.go"},
		{"a file of the same directory", "cache/a.go", "package cache\n\n// See lane.go.\nvar x int", "cache/a.go:3: there is no file or directory lane.go"},
		{"a file elsewhere without its directory", "README.md", "See `feed.go`.", "no file or directory feed.go"},
		{"a directory", "cache/a.go", "package cache\n\n// See internal/upstream.\nvar x int", "no file or directory internal/upstream"},
		{"a package by its path", "cache/a.go", "package cache\n\n// See internal/upstream.Lane.\nvar x int", "no file or directory internal/upstream"},
		{"a pattern", "README.md", "`testdata/*.txt`", "no file or directory testdata/*.txt"},
		{"a hidden file", "README.md", "`.golangci.yml`", "no file or directory .golangci.yml"},
		{"a link", "docs/flow.md", "[here](missing.md)", "docs/flow.md:1: the link leads to no file: docs/missing.md"},
		{"a heading", "README.md", "[here](docs/semantics.md#12-gone)", "README.md:1: docs/semantics.md has no heading #12-gone"},
		{"a heading in the same file", "README.md", "[here](#gone)", "README.md:1: README.md has no heading #gone"},
		{"a flag", "README.md", "Pass `--preloading pods`.", "README.md:1: no command has a flag preloading"},
		{"a flag in a comment", "cache/a.go", "package cache\n\nvar x int // set by --preloading", "cache/a.go:3: no command has a flag preloading"},
		{"a flag with one dash", "README.md", "`-only lists`", "README.md:1: no command has a flag only"},
		{"a target", "README.md", "Run `make all`.", "README.md:1: the Makefile has no target all"},
		{"a target after a variable", "README.md", "Run `SEED=1 make all`.", "the Makefile has no target all"},
		{"the second target", "README.md", "Run `make test all`.", "the Makefile has no target all"},
		{"a target on a separate line", "README.md", "Then\n\n    make all\n", "README.md:3: the Makefile has no target all"},
		{"a target without backquotes", "cache/a.go", "package cache\n\n// Run make test.\nvar x int", "write it in backquotes"},
		{"a section", "cache/a.go", "package cache\n\n// Like kube-apiserver (semantics\n// 1.3).\nvar x int", "cache/a.go:3: docs/semantics.md has no section 1.3"},
		{"the last of several sections", "README.md", "semantics 1, 1.2 and 1.4", "docs/semantics.md has no section 1.4"},
		{"a section of the same file", "docs/semantics.md", "# 1. One\n\nSee section 3.", "docs/semantics.md:3: docs/semantics.md has no section 3"},
		{"a decision", "README.md", "See ADR 7.", "README.md:1: there is no ADR 7"},
		{"an invariant", "README.md", "I1 to I3", "README.md:1: cache/doc.go has no I3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if breaches := breachesWith(t, test.path, test.body); len(breaches) != 1 || !strings.Contains(breaches[0], test.want) {
				t.Errorf("got %q, want one with %q", breaches, test.want)
			}
		})
	}
}

func TestCheckAcceptsCorrectTexts(t *testing.T) {
	tests := []struct{ name, path, body string }{
		{"existing files", "README.md", "`cache/feed.go`, cache/, `docs/adr/0001-*.md`, [flow](docs/flow.md#how), `./cache/feed.go`"},
		{"existing files, from a subdirectory", "cache/a.go", "package cache\n\n// feed.go and docs/flow.md.\nvar x int"},
		{"a name of several files", "README.md", "each package's `doc.go`"},
		{"a symbol in a package", "README.md", "`cache.Feed`, internal/wire.Item"},
		{"paths of other projects", "README.md", "`/usr/bin/kubectl`, `k8s.io/client-go/rest/request.go`, https://go.dev/doc.go, text/plain, and/or"},
		{"a path with a placeholder", "README.md", "`testdata/<kind>/list.json`, `cache/${x}.go`"},
		{"paths of Kubernetes", "docs/semantics.md", "# 1. One\n\n## 1.2 Two\n\ncacher.go:12, AS/storage/errors.go"},
		{"existing flags", "README.md", "`--preload`, `-preload`, `--help`, `kubectl --server x`, a - b -- c, `--` and a--b"},
		{"existing targets", "README.md", "`make test`, `make test FUZZTIME=1m`, to make sure"},
		{"existing sections", "README.md", "semantics 1, 1.2, and the 9 rows of semantics 1"},
		{"an existing decision", "README.md", "ADR 1"},
		{"directives", "cache/a.go", "package cache\n\n//go:generate make test --nothing x.go\nvar x int"},
		{"code", "cache/a.go", "package cache\n\nvar x = \"missing.go --nothing\""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if breaches := breachesWith(t, test.path, test.body); len(breaches) > 0 {
				t.Errorf("got %q, want none", breaches)
			}
		})
	}
}

func TestCheckFindsUntestedInvariants(t *testing.T) {
	files := goodTree()
	files["cache/feed_test.go"] = file("package cache\n\n// TestFeed checks I1.\nfunc TestFeed() {}\n\n// helper mentions I2.\nfunc helper() {}")
	if got := untested(t, files); !slices.Equal(got, []string{"cache/doc.go: no test names I2"}) {
		t.Errorf("got %q, want only I2", got)
	}
	files["cache/more_test.go"] = file("package cache\n\nfunc TestI2Holds() {}")
	if got := untested(t, files); len(got) > 0 {
		t.Errorf("got %q, want none", got)
	}
}

func untested(t *testing.T, files fstest.MapFS) []string {
	t.Helper()
	breaches, err := treeOf(t, files).checkInvariantsTested()
	if err != nil {
		t.Fatal(err)
	}
	return breaches
}

func TestCheckFindsLongLines(t *testing.T) {
	const word = "twelve_chars"
	long := strings.TrimSpace(strings.Repeat(word+" ", 10))
	tests := []struct {
		name, path, body string
		want             []string
	}{
		{"prose", "a.md", "short\n" + long, []string{"a.md:2: longer than 120 columns"}},
		{"120 characters in more bytes", "a.md", strings.Repeat("é", 60) + " " + strings.Repeat("é", 59), nil},
		{"a table", "a.md", "| " + long + " |", nil},
		{"a code block", "a.md", "```\n" + long + "\n```\n" + long, []string{"a.md:4: longer than 120 columns"}},
		{"indented code", "a.md", "so:\n\n    " + long + "\n    " + long, nil},
		{"a continued item", "a.md", "1. one\n    " + long, []string{"a.md:2: longer than 120 columns"}},
		{"one link in an item", "a.md", "- [" + long + "](a.md)", nil},
		{"one code span", "a.md", "`" + long + "`", nil},
		{"a code span after a word", "a.md", "as `" + long + "`", []string{"a.md:1: longer than 120 columns"}},
		{"a comment", "a.go", "package a\n\n// " + long + "\nvar x int", []string{"a.go:3: longer than 120 columns"}},
		{"a comment after code", "a.go", "package a\n\nvar x int // " + long, []string{"a.go:3: longer than 120 columns"}},
		{"one long word", "a.go", "package a\n\n// " + strings.Repeat(word, 11) + "\nvar x int", nil},
		{"one long word, indented", "a.go", "package a\n\nfunc f() {\n\t// " + strings.Repeat(word, 11) + "\n}", nil},
		{"preformatted", "a.go", "package a\n\n//\t" + long + "\nvar x int", nil},
		{"a directive", "a.go", "package a\n\n//go:generate " + long + "\nvar x int", nil},
		{"code", "a.go", "package a\n\nvar x = \"" + long + "\"", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := treeOf(t, fstest.MapFS{test.path: file(test.body)}).checkWidth(test.path)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestCheckReportsUnreadableFiles(t *testing.T) {
	files := goodTree()
	files["cache/broken.go"] = file("package")
	if _, err := treeOf(t, files).check(); err == nil {
		t.Error("got no error for a file that is not Go")
	}
	delete(files, "cache/broken.go")
	delete(files, "Makefile")
	if _, err := treeOf(t, files).check(); err == nil {
		t.Error("got no error for a missing Makefile")
	}
}

// breachesWith returns the breaches in a good tree after one file is added or replaced.
func breachesWith(t *testing.T, path, body string) []string {
	t.Helper()
	files := goodTree()
	files[path] = file(body)
	breaches, err := treeOf(t, files).check()
	if err != nil {
		t.Fatal(err)
	}
	return breaches
}

func treeOf(t *testing.T, files fs.FS) *tree {
	t.Helper()
	read, err := readTree(files)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// goodTree returns a tree without breaches.
func goodTree() fstest.MapFS {
	return fstest.MapFS{
		"Makefile":                file("test: build ## everything"),
		"cache/doc.go":            file("// Package cache promises.\n//\n//\tI1   One.\n//\tI2   Two.\npackage cache"),
		"cache/feed.go":           file("package cache"),
		"cmd/listfacade/flags.go": file("package main\n\nfunc define() { f.StringVar(&s, \"preload\", s, \"help\") }"),
		"docs/adr/0001-first.md":  file("# 1. First"),
		"docs/flow.md":            file("# How"),
		"docs/semantics.md":       file("# What\n\n## 1. One\n\n### 1.2 Two"),
		"internal/wire/doc.go":    file("package wire"),
		"selectors/doc.go":        file("package selectors"),
		"testdata/broken.go":      file("not Go"),
		"docs/.git/ignored.md":    file("`make nothing`"),
	}
}

func file(body string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(body + "\n")} }
