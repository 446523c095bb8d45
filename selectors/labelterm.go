package selectors

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// labelOp is the operator of a labelTerm. The operators =, == and != are labelIn and labelNotIn with one value.
type labelOp int

const (
	labelIn labelOp = iota
	labelNotIn
	labelExists
	labelAbsent
	labelGreater
	labelLess
	labelNever // matches nothing: the operator is unknown, or a bound is not a number
)

// labelTerm is one compiled requirement of a label selector. It replaces the Requirement of apimachinery, whose > and <
// allocate when a label is not a number.
type labelTerm struct {
	key    string
	op     labelOp
	values valueSet
	bound  int64 // number that labelGreater and labelLess compare with
}

func compileLabel(r *labels.Requirement) labelTerm {
	t := labelTerm{key: r.Key(), op: labelOpOf(r.Operator()), values: newValueSet(r.ValuesUnsorted())}
	if t.op == labelGreater || t.op == labelLess {
		bound, ok := int64(0), len(t.values.sorted) == 1
		if ok {
			bound, ok = parseInt64(t.values.sorted[0])
		}
		if !ok {
			t.op = labelNever
		}
		t.bound = bound
	}
	return t
}

func labelOpOf(operator selection.Operator) labelOp {
	switch operator {
	case selection.In, selection.Equals, selection.DoubleEquals:
		return labelIn
	case selection.NotIn, selection.NotEquals:
		return labelNotIn
	case selection.Exists:
		return labelExists
	case selection.DoesNotExist:
		return labelAbsent
	case selection.GreaterThan:
		return labelGreater
	case selection.LessThan:
		return labelLess
	default:
		return labelNever
	}
}

// matches reports whether labels satisfy the term. Labels without the key satisfy only notin and absent (semantics
// 5.1).
func (t *labelTerm) matches(set LabelSet) bool {
	value, exists := set.Lookup(t.key)
	if !exists {
		return !t.needsKey()
	}
	return t.matchesValue(value)
}

// needsKey reports whether labels without the key do not satisfy the term.
func (t *labelTerm) needsKey() bool { return t.op != labelNotIn && t.op != labelAbsent }

// matchesValue reports whether a label with the term's key and this value satisfies the term.
func (t *labelTerm) matchesValue(value string) bool {
	switch t.op {
	case labelIn:
		return t.values.has(value)
	case labelNotIn:
		return !t.values.has(value)
	case labelExists:
		return true
	case labelGreater:
		n, ok := parseInt64(value)
		return ok && n > t.bound
	case labelLess:
		n, ok := parseInt64(value)
		return ok && n < t.bound
	default:
		return false
	}
}

// appendTo appends the term's text. Equal terms have equal texts.
func (t *labelTerm) appendTo(dst []byte) []byte {
	dst = strconv.AppendQuote(dst, t.key)
	dst = append(dst, ' ')
	dst = append(dst, labelOpNames[t.op]...)
	return t.values.appendTo(dst)
}

var labelOpNames = [...]string{
	labelIn: "in", labelNotIn: "notin", labelExists: "exists", labelAbsent: "absent",
	labelGreater: ">", labelLess: "<", labelNever: "never",
}

// parseInt64 is strconv.ParseInt(s, 10, 64) without its error, which allocates.
func parseInt64(s string) (n int64, ok bool) {
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	if s == "" {
		return 0, false
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	var magnitude uint64
	for i := range len(s) {
		digit := uint64(s[i] - '0')
		if digit > 9 || magnitude > (limit-digit)/10 {
			return 0, false
		}
		magnitude = magnitude*10 + digit
	}
	if negative {
		return -int64(magnitude), true
	}
	return int64(magnitude), true
}
