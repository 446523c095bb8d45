package layering

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// restricted lists names that only some files of a package may use. Test files are exempt.
var restricted = []struct {
	dir   string
	pkg   string // the import path of name's package, which may be dir's; empty for a field
	name  string
	files []string
	why   string
}{
	{
		dir: "handlers", pkg: module + "/handlers", name: "Lanes", files: []string{"lane.go", "authorize.go", "server.go"},
		why: "only the authorization check may access the lanes",
	},
	{
		dir: "handlers", pkg: module + "/internal/reflector", name: "Lanes",
		why: "handlers declare what they use of the lanes (handlers/lane.go)",
	},
	{
		dir: "handlers", pkg: module + "/internal/reflector", name: "Reflector",
		why: "handlers declare what they use of a lane (handlers/lane.go)",
	},
	{
		dir: "handlers", name: "lanes", files: []string{"authorize.go"},
		why: "a lane is available only after authorization",
	},
	{
		dir: "handlers", name: "r", files: []string{"reply.go", "errors.go", "handler_chain.go"},
		why: "after resolve, only the reply, which is the connection, may use the *http.Request",
	},
	{
		dir: "handlers", pkg: "net/http", name: "Request",
		files: []string{"resolve.go", "authenticate.go", "media.go", "reply.go", "errors.go", "handler_chain.go", "router.go", "request.go", "socket_page.go"},
		why:   "only resolve reads a request, and only authenticate reads its credentials; later steps do not use *http.Request",
	},
}

// Only the listed files of the handler chain use the restricted names.
func TestRestrictedNames(t *testing.T) {
	breaches, err := checkRestricted(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range breaches {
		t.Error(breach)
	}
}

func TestCheckRestrictedFindsBreaches(t *testing.T) {
	for text, want := range map[string]string{
		`import "net/http"` + "\n" + `func f(r *http.Request) {}`:                    "list.go:3: names http.Request",
		`import r "` + module + `/internal/reflector"` + "\n" + `var lanes *r.Lanes`: "list.go:3: names r.Lanes",
		`import r "` + module + `/internal/reflector"` + "\n" + `var f r.Reflector`:  "list.go:3: names r.Reflector",
		`var lanes Lanes`: "list.go:2: names Lanes",
		`func (s *Server) f() { _ = s.authorization.lanes }`:            "list.go:2: names authorization.lanes",
		`import "net/url"` + "\n" + `var _ = url.Values.Set`:            "",
		`type Request struct{}`:                                         "",
		`import "net/http"` + "\n" + `func f(w http.ResponseWriter) {}`: "",
	} {
		for file, found := range map[string]bool{"handlers/list.go": true, "handlers/authorize.go": strings.Contains(want, "Request") || strings.Contains(want, "names r."), "cache/list.go": false, "handlers/list_test.go": false} {
			breaches, err := checkRestricted(fstest.MapFS{file: &fstest.MapFile{Data: []byte("package p\n" + text + "\n")}})
			if err != nil {
				t.Fatal(err)
			}
			_, line, _ := strings.Cut(want, ":")
			if wanted := found && want != ""; wanted != (len(breaches) == 1 && strings.Contains(breaches[0], line)) {
				t.Errorf("%s with %q: got %q, want %q", file, text, breaches, want)
			}
		}
	}
}

// checkRestricted returns uses of restricted names outside of the listed files.
func checkRestricted(tree fs.FS) ([]string, error) {
	sources, err := readTree(tree)
	if err != nil {
		return nil, err
	}
	var breaches []string
	for _, s := range sources {
		for _, rule := range restricted {
			if s.test || s.dir() != rule.dir || slices.Contains(rule.files, path.Base(s.path)) {
				continue
			}
			breach := func(n ast.Node, name string) {
				at := s.set.Position(n.Pos()).Line
				breaches = append(breaches, fmt.Sprintf("%s:%d: names %s: %s", s.path, at, name, rule.why))
			}
			selected := map[*ast.Ident]bool{} // names behind a dot
			ast.Inspect(s.syntax, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					selected[n.Sel] = true
					if n.Sel.Name == rule.name && (rule.pkg == "" || s.names(n.X, rule.pkg)) {
						breach(n, ofWhat(n.X)+"."+rule.name)
					}
				case *ast.Ident:
					if n.Name == rule.name && rule.pkg == module+"/"+rule.dir && !selected[n] {
						breach(n, rule.name)
					}
				}
				return true
			})
		}
	}
	return breaches, nil
}

// names reports whether an expression is the file's name for a package.
func (s *source) names(e ast.Expr, pkg string) bool {
	x, ok := e.(*ast.Ident)
	return ok && slices.ContainsFunc(s.imports, func(i imported) bool { return i.path == pkg && i.name == x.Name })
}

// ofWhat returns the last name before a selector.
func ofWhat(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return "?"
}
