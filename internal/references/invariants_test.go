package references

import (
	"fmt"
	"go/ast"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// promises is the file that lists the invariants, one per line.
const promises = "cache/doc.go"

var promised = regexp.MustCompile(`(?m)^//\t(I\d+)\s`)

func (t *tree) invariants() map[string]bool {
	body, err := fs.ReadFile(t.fs, promises)
	if err != nil {
		return nil
	}
	found := map[string]bool{}
	for _, line := range promised.FindAllStringSubmatch(string(body), -1) {
		found[line[1]] = true
	}
	return found
}

// checkInvariantsTested finds invariants that no test has in its name or comment.
func (t *tree) checkInvariantsTested() ([]string, error) {
	tested := map[string]bool{}
	for _, name := range t.files(".go") {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		_, file, err := t.parse(name)
		if err != nil {
			return nil, err
		}
		for _, declared := range file.Decls {
			if function, ok := declared.(*ast.FuncDecl); ok && isTest(function) {
				for _, i := range invariantsIn(function) {
					tested[i] = true
				}
			}
		}
	}
	var breaches []string
	for i := range t.invariants() {
		if !tested[i] {
			breaches = append(breaches, fmt.Sprintf("%s: no test names %s", promises, i))
		}
	}
	slices.Sort(breaches)
	return breaches, nil
}

func isTest(f *ast.FuncDecl) bool {
	return f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz"))
}

// inName matches an invariant in a name such as TestI9IndexProposes.
var inName = regexp.MustCompile(`I\d+`)

func invariantsIn(f *ast.FuncDecl) []string {
	return append(inName.FindAllString(f.Name.Name, -1), invariants.FindAllString(f.Doc.Text(), -1)...)
}
