package selectors

import (
	"errors"
	"strings"
	"unicode/utf8"
)

var errShardSyntax = errors.New("the expression must consist of shardRange() calls joined with ||")

// A shardSelector is an expression in CEL (KEP-5866). kube-apiserver parses all of CEL and then refuses all but a small
// part, with its own messages. This parser accepts that part, and similar invalid expressions for which this package
// knows kube-apiserver's message:
//
//	expression = primary { "||" primary }
//	primary    = "(" expression ")" | call | path | string
//	call       = name "(" [ expression { "," expression } ] ")"
//	path       = name { "." name }
//	string     = a text in ' or ", without escapes and line breaks
//
// For any other expression, the parser returns *ShardSyntaxError, because kube-apiserver's message is unknown.
type shardNode struct {
	kind shardKind
	text string // of a call: the function; of a path: the path; of a string: its value
	args []*shardNode
}

// shardKind is the kind of an expression, with the number that kube-apiserver's messages contain.
type shardKind int

const (
	shardCall   shardKind = 1
	shardName   shardKind = 3
	shardString shardKind = 5
	shardPath   shardKind = 7
)

// shardOr is CEL's name of the operator ||.
const shardOr = "_||_"

// deepestShard is the maximum depth of nested expressions. CEL allows more.
const deepestShard = 16

type shardParser struct {
	rest  string
	depth int
}

func parseShardExpression(text string) (*shardNode, error) {
	if !utf8.ValidString(text) {
		return nil, errShardSyntax
	}
	p := &shardParser{rest: text}
	node, err := p.expression()
	if err == nil && p.space() != "" {
		err = errShardSyntax
	}
	return node, err
}

// space skips white space and returns the text after it.
func (p *shardParser) space() string {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n\f")
	return p.rest
}

// take skips a token if it comes next, and reports whether it did.
func (p *shardParser) take(token string) bool {
	rest, found := strings.CutPrefix(p.space(), token)
	p.rest = rest
	return found
}

func (p *shardParser) expression() (*shardNode, error) {
	if p.depth++; p.depth > deepestShard {
		return nil, errShardSyntax
	}
	defer func() { p.depth-- }()
	first, err := p.primary()
	if err != nil || !p.take("||") {
		return first, err
	}
	or := &shardNode{kind: shardCall, text: shardOr, args: []*shardNode{first}}
	for {
		next, err := p.primary()
		if err != nil {
			return nil, err
		}
		if or.args = append(or.args, next); !p.take("||") {
			return or, nil
		}
	}
}

func (p *shardParser) primary() (*shardNode, error) {
	if p.take("(") {
		inner, err := p.expression()
		if err == nil && !p.take(")") {
			err = errShardSyntax
		}
		return inner, err
	}
	if rest := p.rest; rest != "" && (rest[0] == '\'' || rest[0] == '"') {
		return p.literal()
	}
	name, err := p.name()
	if err != nil || reservedInCEL[name] {
		return nil, errShardSyntax
	}
	if p.take("(") {
		return p.call(name)
	}
	return p.path(name)
}

// literal reads a text in quotes. The next character must be a quote.
func (p *shardParser) literal() (*shardNode, error) {
	quote := p.rest[:1]
	value, rest, closed := strings.Cut(p.rest[1:], quote)
	if !closed || strings.ContainsAny(value, "\\\r\n") || value == "" && strings.HasPrefix(rest, quote) {
		return nil, errShardSyntax // the last condition detects a text in three quotes
	}
	p.rest = rest
	return &shardNode{kind: shardString, text: value}, nil
}

func (p *shardParser) name() (string, error) {
	rest := p.space()
	end := 0
	for end < len(rest) && (isLetter(rest[end]) || end > 0 && '0' <= rest[end] && rest[end] <= '9') {
		end++
	}
	name := rest[:end]
	if p.rest = rest[end:]; name == "" || keywordsInCEL[name] {
		return "", errShardSyntax
	}
	return name, nil
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func (p *shardParser) call(function string) (*shardNode, error) {
	call := &shardNode{kind: shardCall, text: function}
	if p.take(")") {
		return call, nil
	}
	for {
		arg, err := p.expression()
		if err != nil {
			return nil, err
		}
		call.args = append(call.args, arg)
		switch {
		case p.take(")"):
			return call, nil
		case !p.take(","):
			return nil, errShardSyntax
		}
	}
}

func (p *shardParser) path(name string) (*shardNode, error) {
	node := &shardNode{kind: shardName, text: name}
	for p.take(".") {
		field, err := p.name()
		if err != nil || p.take("(") { // a method call
			return nil, errShardSyntax
		}
		node.kind, node.text = shardPath, node.text+"."+field
	}
	return node, nil
}

// The words in keywordsInCEL cannot be names. The words in reservedInCEL can be names of fields, but cannot begin a
// path or a call.
var (
	keywordsInCEL = map[string]bool{"in": true, "true": true, "false": true, "null": true}
	reservedInCEL = map[string]bool{"as": true, "break": true, "const": true, "continue": true, "else": true, "for": true,
		"function": true, "if": true, "import": true, "let": true, "loop": true, "namespace": true, "package": true,
		"return": true, "var": true, "void": true, "while": true}
)
