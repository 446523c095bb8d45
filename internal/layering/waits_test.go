package layering

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// TestNoTestDependsOnLoad rejects code that makes a test depend on the load of the machine, or on chance. That is
// sleeping, deadlines below settings.Patience, bounds on durations, and random numbers without a seed. Benchmarks are
// exempt, and so are files with tests in bubbles, whose time is virtual. A line may give a reason
// for real time, such as a server that is slow on purpose: `//pace: reason`.
func TestNoTestDependsOnLoad(t *testing.T) {
	breaches, err := checkWaits(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range breaches {
		t.Error(breach)
	}
}

// pace starts the reason for real time in a test.
const pace = "//pace: "

// checkWaits returns every breach as "file:line: message".
func checkWaits(tree fs.FS) ([]string, error) {
	sources, err := readTree(tree)
	if err != nil {
		return nil, err
	}
	var breaches []string
	for dir, files := range byDir(sources) {
		durations, virtual := constantDurations(files), bubbles(files)
		for _, s := range files {
			breaches = append(breaches, unsafeBubbles(s)...)
			if waits(s) && !virtual[s] && !strings.HasPrefix(dir, "bench") {
				breaches = append(breaches, (&waitCheck{source: s, durations: durations, paced: pacedLines(s)}).run()...)
			}
		}
	}
	slices.Sort(breaches)
	return breaches, nil
}

// waits reports whether the rules apply to a file.
func waits(s *source) bool {
	return !strings.HasSuffix(s.path, "_bench_test.go") && (s.test || within(s.dir(), "internal/testkit"))
}

// bubbles returns the files of a package with virtual time. They call bubble.Test, directly or through helpers of the
// package.
func bubbles(files []*source) map[*source]bool {
	virtual, helpers := map[*source]bool{}, map[string]bool{"bubble.Test": true}
	for added := true; added; {
		added = false
		for _, s := range files {
			for _, d := range s.syntax.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || !callsOneOf(f, helpers) {
					continue
				}
				virtual[s] = true
				if !helpers[f.Name.Name] && !strings.HasPrefix(f.Name.Name, "Test") {
					helpers[f.Name.Name], added = true, true
				}
			}
		}
	}
	return virtual
}

// unsafeBubbles returns the functions of a file whose bubbles can crash the race detector.
func unsafeBubbles(s *source) (breaches []string) {
	for _, d := range s.syntax.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && callsOneOf(f, map[string]bool{"synctest.Test": true}) && s.dir() != "internal/testkit/bubble" {
			breaches = append(breaches, fmt.Sprintf("%s:%d: calls synctest.Test: call bubble.Test of internal/testkit/bubble",
				s.path, s.set.Position(f.Pos()).Line))
		}
	}
	return breaches
}

// callsOneOf reports whether a function calls one of the named functions.
func callsOneOf(f *ast.FuncDecl, names map[string]bool) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch called := call.Fun.(type) {
			case *ast.Ident:
				found = found || names[called.Name]
			case *ast.SelectorExpr:
				found = found || names[ofWhat(called.X)+"."+called.Sel.Name]
			}
		}
		return !found
	})
	return found
}

// pacedLines returns the lines with a reason for real time.
func pacedLines(s *source) map[int]bool {
	lines := map[int]bool{}
	for _, group := range s.syntax.Comments {
		for _, comment := range group.List {
			if reason, ok := strings.CutPrefix(comment.Text, pace); ok && strings.TrimSpace(reason) != "" {
				lines[s.set.Position(comment.Pos()).Line] = true
			}
		}
	}
	return lines
}

// constantDurations returns the constants and variables of a package whose value is a literal duration.
func constantDurations(files []*source) map[string]time.Duration {
	found := map[string]time.Duration{}
	for _, s := range files {
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, value := range spec.Values {
				if d, ok := duration(value, found); ok && len(spec.Names) == len(spec.Values) {
					found[spec.Names[i].Name] = d
				}
			}
			return true
		})
	}
	return found
}

// units are the units of package time.
var units = map[string]time.Duration{
	"Nanosecond": 1, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
	"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
}

// duration evaluates an expression of literals, units of time and known constants.
func duration(e ast.Expr, known map[string]time.Duration) (time.Duration, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		n, err := strconv.ParseFloat(x.Value, 64)
		return time.Duration(n), err == nil
	case *ast.Ident:
		d, ok := known[x.Name]
		return d, ok
	case *ast.ParenExpr:
		return duration(x.X, known)
	case *ast.SelectorExpr:
		of, ok := x.X.(*ast.Ident)
		d, unit := units[x.Sel.Name]
		return d, ok && unit && of.Name == "time"
	case *ast.BinaryExpr:
		a, ok := duration(x.X, known)
		b, also := duration(x.Y, known)
		if !ok || !also {
			return 0, false
		}
		return combined(x.Op, a, b)
	}
	return 0, false
}

func combined(op token.Token, a, b time.Duration) (time.Duration, bool) {
	switch {
	case op == token.MUL:
		return a * b, true
	case op == token.QUO && b != 0:
		return a / b, true
	case op == token.ADD:
		return a + b, true
	}
	return 0, false
}

// waitCheck checks one file against the rules.
type waitCheck struct {
	*source
	durations map[string]time.Duration
	paced     map[int]bool
	breaches  []string
}

func (c *waitCheck) run() []string {
	measured := map[string]bool{} // variables with a measured duration
	ast.Inspect(c.syntax, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			for i, value := range x.Rhs {
				if name, ok := x.Lhs[i].(*ast.Ident); ok && c.isCall(value, "Since") {
					measured[name.Name] = true
				}
			}
		case *ast.CallExpr:
			c.call(x)
		case *ast.KeyValueExpr:
			if key, ok := x.Key.(*ast.Ident); ok && key.Name == "Timeout" {
				c.deadline(x.Value)
			}
		case *ast.BinaryExpr:
			name, variable := x.X.(*ast.Ident)
			if (x.Op == token.GTR || x.Op == token.GEQ) && (c.isCall(x.X, "Since") || variable && measured[name.Name]) {
				c.breach(x, "limits a measured duration: move it to bench/")
			}
		}
		return true
	})
	return c.breaches
}

// deadlines maps functions to the index of the argument with their deadline.
var deadlines = map[string]int{"time.After": 0, "time.NewTimer": 0, "time.AfterFunc": 0, "context.WithTimeout": 1, "context.WithTimeoutCause": 1}

// seeded are the names in the packages math/rand that draw no number from the global source.
var seeded = []string{"New", "NewPCG", "NewSource", "NewChaCha8", "NewZipf", "Rand", "Source", "ChaCha8", "PCG"}

func (c *waitCheck) call(call *ast.CallExpr) {
	of, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	name := ofWhat(of.X) + "." + of.Sel.Name
	at, waits := deadlines[name]
	switch {
	case name == "time.Sleep":
		c.breach(call, "sleeps instead of waiting for a condition")
	case waits && at < len(call.Args):
		c.deadline(call.Args[at])
	case strings.HasPrefix(of.Sel.Name, "Set") && strings.HasSuffix(of.Sel.Name, "Deadline"), name == "context.WithDeadline":
		if add, ok := call.Args[len(call.Args)-1].(*ast.CallExpr); ok && len(add.Args) == 1 {
			c.deadline(add.Args[0])
		}
	case c.names(of.X, "math/rand") || c.names(of.X, "math/rand/v2"):
		if !slices.Contains(seeded, of.Sel.Name) {
			c.breach(call, "draws a random number without a seed")
		} else if slices.ContainsFunc(call.Args, c.readsClock) {
			c.breach(call, "takes its seed from the clock")
		}
	}
}

// deadline rejects a literal that is shorter than the patience of tests.
func (c *waitCheck) deadline(e ast.Expr) {
	if d, ok := duration(e, c.durations); ok && d < settings.Patience() {
		c.breach(e, fmt.Sprintf("deadline of %s is below settings.Patience", d))
	}
}

func (c *waitCheck) isCall(e ast.Expr, function string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	of, ok := call.Fun.(*ast.SelectorExpr)
	return ok && c.names(of.X, "time") && of.Sel.Name == function
}

// readsClock reports whether an expression contains the current time.
func (c *waitCheck) readsClock(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		x, ok := n.(ast.Expr)
		found = found || ok && c.isCall(x, "Now")
		return !found
	})
	return found
}

func (c *waitCheck) breach(n ast.Node, what string) {
	if line := c.set.Position(n.Pos()).Line; !c.paced[line] {
		c.breaches = append(c.breaches, fmt.Sprintf("%s:%d: %s", c.path, line, what))
	}
}

func TestCheckWaitsFindsEachBreach(t *testing.T) {
	for text, want := range map[string]string{
		`func f() { time.Sleep(d) }`:                                                                  "3: sleeps instead of waiting for a condition",
		`func f() { <-time.After(5 * time.Second) }`:                                                  "3: deadline of 5s is below settings.Patience",
		"const soon = time.Minute\nfunc f() { <-time.After(soon / 2) }":                               "4: deadline of 30s",
		`func f() { context.WithTimeout(ctx, time.Minute+time.Second) }`:                              "3: deadline of 1m1s",
		`func f() { conn.SetReadDeadline(time.Now().Add(time.Second)) }`:                              "3: deadline of 1s",
		`var c = http.Client{Timeout: time.Second}`:                                                   "3: deadline of 1s",
		`func f() { if time.Since(began) > soon {} }`:                                                 "3: limits a measured duration",
		`func f() { if took := time.Since(began); took >= soon {} }`:                                  "3: limits a measured duration",
		"import \"math/rand/v2\"\nfunc f() { rand.IntN(3) }":                                          "4: draws a random number without a seed",
		"import \"math/rand/v2\"\nvar r = rand.NewPCG(uint64(time.Now().Unix()), 1)":                  "4: takes its seed from the clock",
		`func f() { <-time.After(suite.Patience) }`:                                                   "",
		`func f() { <-time.After(time.Hour) }`:                                                        "",
		`func f() { if time.Since(began) < life {} }`:                                                 "",
		"import \"math/rand/v2\"\nvar r = rand.New(rand.NewPCG(1, 2)).IntN(3)":                        "",
		`func f() { <-time.After(time.Second) } //pace: the server is slow`:                           "",
		`func f() { <-time.After(time.Second) } //pace: `:                                             "3: deadline of 1s",
		`func f() { synctest.Test(t, func(t *testing.T) {}) }`:                                        "3: calls synctest.Test: call bubble.Test of internal/testkit/bubble",
		`func f() { bubble.Test(t, func(t *testing.T) { time.Sleep(time.Second) }) }`:                 "",
		"func inBubble() { bubble.Test(t, f) }\nfunc TestF() { inBubble(); time.Sleep(time.Second) }": "",
	} {
		tree := fstest.MapFS{"cache/a_test.go": file("import \"time\"\n" + text)}
		breaches, err := checkWaits(tree)
		if err != nil {
			t.Fatal(err)
		}
		if found := len(breaches) == 1 && strings.HasPrefix(breaches[0], "cache/a_test.go:"+want); found != (want != "") || len(breaches) > 1 {
			t.Errorf("%s: got %q, want %q", text, breaches, want)
		}
	}
}
