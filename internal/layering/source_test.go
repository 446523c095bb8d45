package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// source is one parsed Go file.
type source struct {
	path    string // slash-separated, relative to the module's root
	test    bool
	imports []imported
	syntax  *ast.File
	set     *token.FileSet
}

// majorVersion matches the end of an import path that is not part of the package's name.
var majorVersion = regexp.MustCompile(`/v[0-9]+$`)

type imported struct {
	path string
	name string // name in the file; the last path element if there is none
	line int
}

func (s *source) dir() string { return path.Dir(s.path) }

// notOurs are directories without source: testdata, and a directory that npm changes while tests run.
var notOurs = []string{"testdata", "node_modules"}

// readTree parses every Go file below the root. Like the go command, it ignores testdata and directories that begin
// with a dot or an underscore.
func readTree(tree fs.FS) ([]*source, error) {
	var sources []*source
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (slices.Contains(notOurs, entry.Name()) || strings.ContainsAny(entry.Name()[:1], "._")):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		s, err := readSource(tree, name)
		sources = append(sources, s)
		return err
	})
	return sources, err
}

func readSource(tree fs.FS, name string) (*source, error) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &source{path: name, test: strings.HasSuffix(name, "_test.go"), syntax: syntax, set: set}
	for _, spec := range syntax.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		i := imported{path: target, name: path.Base(majorVersion.ReplaceAllString(target, "")), line: set.Position(spec.Pos()).Line}
		if spec.Name != nil {
			i.name = spec.Name.Name
		}
		s.imports = append(s.imports, i)
	}
	return s, nil
}

// byDir groups files into packages.
func byDir(sources []*source) map[string][]*source {
	packages := map[string][]*source{}
	for _, s := range sources {
		packages[s.dir()] = append(packages[s.dir()], s)
	}
	return packages
}

// within reports whether an import path or directory equals prefix or is below it.
func within(name, prefix string) bool {
	return name == prefix || strings.HasPrefix(name, prefix+"/")
}

func withinAny(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return within(name, prefix) })
}

// ownDir returns the directory of an import path of this module.
func ownDir(importPath string) (dir string, ours bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// standard reports whether an import path is in the standard library. Such a path has no dot in its first element.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
