package references

import (
	"go/ast"
	"go/token"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

var (
	flagsNamed   = regexp.MustCompile("(?:^|[\\s`(\\[\"'])--([a-z][a-z0-9-]*)|`-([a-z][a-z0-9-]+)")
	targetLine   = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	targetsAsked = regexp.MustCompile("`(?:[A-Z_]+=\\S+ )*make ([a-z][a-z -]*)|(?m:^ {4,}make ([a-z][a-z -]*))")
	targetsBare  = regexp.MustCompile("(?:^|[^`\\w])make\\s+([a-z][a-z-]*)")
	flagMethod   = regexp.MustCompile(`^(Bool|Duration|Float64|IP|Int|Int64|String|StringArray|StringSlice|Uint)?Var(P?)$`)
)

// checkFlags finds flags that no command of this repository or of another listed program has.
func (k *known) checkFlags(x text) []string {
	var breaches []string
	for _, at := range flagsNamed.FindAllStringSubmatchIndex(x.body, -1) {
		named := max(at[2], at[4])
		if name := x.body[named:at[1]]; !k.flags[name] && foreignFlags[name] == "" {
			breaches = append(breaches, x.breach(named, "no command has a flag %s", name))
		}
	}
	return breaches
}

// checkTargets finds make targets that are not in the Makefile, and targets without backquotes, which would not be
// checked.
func (k *known) checkTargets(x text) []string {
	var breaches []string
	for _, at := range targetsAsked.FindAllStringSubmatchIndex(x.body, -1) {
		named := max(at[2], at[4])
		for _, name := range strings.Fields(x.body[named:at[1]]) {
			if !k.targets[name] {
				breaches = append(breaches, x.breach(named, "the Makefile has no target %s", name))
			}
		}
	}
	rest := targetsAsked.ReplaceAllStringFunc(x.body, blank)
	for _, at := range targetsBare.FindAllStringSubmatchIndex(rest, -1) {
		if name := rest[at[2]:at[3]]; k.targets[name] {
			breaches = append(breaches, x.breach(at[2], "make %s is a target: write it in backquotes", name))
		}
	}
	return breaches
}

// flags returns the flags that commands of this repository define, read from the calls that define them.
func (t *tree) flags() (map[string]bool, error) {
	// Commands have these flags without defining them.
	own := map[string]bool{"help": true, "version": true}
	for _, name := range t.files(".go") {
		_, file, err := t.parse(name)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if flag := flagOf(call); flag != "" {
					own[flag] = true
				}
			}
			return true
		})
	}
	return own, nil
}

// flagOf returns the name of the flag that a call defines, such as flags.StringVar(&s, "name", ...).
func flagOf(call *ast.CallExpr) string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !flagMethod.MatchString(method.Sel.Name) || len(call.Args) < 3 {
		return ""
	}
	literal, ok := call.Args[1].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	name, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return name
}

// targets returns the targets of the Makefile.
func (t *tree) targets() (map[string]bool, error) {
	body, err := fs.ReadFile(t.fs, "Makefile")
	if err != nil {
		return nil, err
	}
	targets := map[string]bool{}
	for _, found := range targetLine.FindAllStringSubmatch(string(body), -1) {
		targets[found[1]] = true
	}
	return targets, nil
}
