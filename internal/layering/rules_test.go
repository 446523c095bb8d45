package layering

import (
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// check returns every breach of the rules in a tree, as "file:line: message", sorted.
func check(tree fs.FS) ([]string, error) {
	sources, err := readTree(tree)
	if err != nil {
		return nil, err
	}
	var breaches []string
	for dir, files := range byDir(sources) {
		if withinAny(dir, otherModules) {
			continue
		}
		breaches = append(breaches, checkPackage(dir, files)...)
	}
	for _, s := range sources {
		if withinAny(s.dir(), otherModules) {
			breaches = append(breaches, checkOtherModule(s)...)
			continue
		}
		breaches = append(breaches, checkImports(s)...)
		breaches = append(breaches, checkStatus(s)...)
	}
	slices.Sort(breaches)
	return breaches, nil
}

// checkPackage checks a directory's name, its layer and its doc.go.
func checkPackage(dir string, files []*source) []string {
	var breaches []string
	if slices.Contains(vague, path.Base(dir)) {
		breaches = append(breaches, dir+": the name does not describe the package")
	}
	if layerOf(dir) == nil {
		breaches = append(breaches, dir+": is not in the table of layers")
	}
	if !documented(files) {
		breaches = append(breaches, dir+": no doc.go with a package comment")
	}
	return breaches
}

// documented reports whether a package has a doc.go. A command may have its package comment in main.go instead.
func documented(files []*source) bool {
	return slices.ContainsFunc(files, func(s *source) bool {
		name := path.Base(s.path)
		return s.syntax.Doc != nil && (name == "doc.go" || s.syntax.Name.Name == "main" && name == "main.go")
	})
}

// layerOf returns the innermost layer of a directory.
func layerOf(dir string) *layer {
	var found *layer
	for i := range layers {
		if within(dir, layers[i].dir) && (found == nil || len(layers[i].dir) > len(found.dir)) {
			found = &layers[i]
		}
	}
	return found
}

// checkImports checks the imports of one file of the main module against the table.
func checkImports(s *source) []string {
	var breaches []string
	home := layerOf(s.dir())
	for _, i := range s.imports {
		if reason := refusal(s, home, i.path); reason != "" {
			breaches = append(breaches, fmt.Sprintf("%s:%d: imports %s: %s", s.path, i.line, i.path, reason))
		}
	}
	return breaches
}

// refusal returns why a file must not import a path; "" if it may.
func refusal(s *source, home *layer, target string) string {
	dir, ours := ownDir(target)
	switch {
	case ours && withinAny(dir, otherModules):
		return "it is another module"
	case s.test || home == nil: // checkPackage reports a package without a layer
		return ""
	}
	for _, c := range confined {
		if within(target, c.prefix) && !withinAny(s.dir(), c.to) {
			return fmt.Sprintf("only %v and tests may", c.to)
		}
	}
	switch {
	case withinAny(target, home.never):
		return home.dir + " must not import it"
	case ours && !within(dir, home.dir) && !slices.Contains(home.ours, "*") && !withinAny(dir, home.ours):
		return fmt.Sprintf("%s may import %v of this module", home.dir, home.ours)
	case !ours && !standard(target) && home.external != nil && !withinAny(target, home.external):
		return fmt.Sprintf("%s may use %v only", home.dir, home.external)
	}
	return ""
}

// checkOtherModule checks that another module imports nothing of the main module.
func checkOtherModule(s *source) []string {
	var breaches []string
	for _, i := range s.imports {
		if dir, ours := ownDir(i.path); ours && !withinAny(dir, otherModules) {
			breaches = append(breaches, fmt.Sprintf("%s:%d: imports %s: it is another module", s.path, i.line, i.path))
		}
	}
	return breaches
}

// checkStatus finds composite literals of metav1.Status outside of statusFiles.
func checkStatus(s *source) []string {
	if s.test || slices.Contains(statusFiles, s.path) {
		return nil
	}
	var breaches []string
	for _, i := range s.imports {
		if i.path != "k8s.io/apimachinery/pkg/apis/meta/v1" {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok && isSelector(literal.Type, i.name, "Status") {
				line := s.set.Position(literal.Pos()).Line
				breaches = append(breaches, fmt.Sprintf("%s:%d: writes a metav1.Status outside %s", s.path, line, strings.Join(statusFiles, " and ")))
			}
			return true
		})
	}
	return breaches
}

// isSelector reports whether an expression is pkg.name.
func isSelector(e ast.Expr, pkg, name string) bool {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != name {
		return false
	}
	x, ok := selector.X.(*ast.Ident)
	return ok && x.Name == pkg
}
