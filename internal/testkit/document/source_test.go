package document

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// source contains the functions, constants and variables of a package by name, including its tests. Methods have their
// own name, without the type.
type source struct{ nodes map[string][]ast.Node }

// parseTests parses the Go files of a directory.
func parseTests(t *testing.T, dir string) *source {
	t.Helper()
	s := &source{nodes: map[string][]ast.Node{}}
	path := filepath.Join(Root(t), filepath.FromSlash(dir))
	files, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(path, file.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s.add(parsed)
	}
	return s
}

// add adds the declarations of a file.
func (s *source) add(file *ast.File) {
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			s.nodes[d.Name.Name] = append(s.nodes[d.Name.Name], d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if values, ok := spec.(*ast.ValueSpec); ok {
					for _, name := range values.Names {
						s.nodes[name.Name] = append(s.nodes[name.Name], values)
					}
				}
			}
		}
	}
}

// reaches reports whether a function, or a declaration that it refers to, contains a string.
func (s *source) reaches(function, text string) bool {
	seen, next := map[string]bool{function: true}, []string{function}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		for _, node := range s.nodes[name] {
			found := false
			ast.Inspect(node, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					value, err := strconv.Unquote(n.Value)
					found = found || err == nil && value == text
				case *ast.Ident:
					if !seen[n.Name] {
						seen[n.Name] = true
						next = append(next, n.Name)
					}
				}
				return true
			})
			if found {
				return true
			}
		}
	}
	return false
}
