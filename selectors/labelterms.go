package selectors

import "k8s.io/apimachinery/pkg/labels"

// labelTerms contains the compiled requirements of a label selector, at most one for each key and operator. The cost of
// a match depends on the number of the object's labels, not on the number of requirements and values.
type labelTerms struct {
	all      []labelTerm
	byKey    map[string][]*labelTerm // nil if there are at most fewTerms terms
	required int                     // number of terms that need their key (needsKey); set only with byKey
}

// fewTerms is the maximum number of terms for which match looks up the key of each term in an object's labels. With
// more terms, match looks up the key of each label in the terms.
const fewTerms = 8

// compileLabels compiles a selector. The second result is false when no labels can match.
func compileLabels(selector labels.Selector) (terms labelTerms, possible bool) {
	if selector == nil {
		return labelTerms{}, true
	}
	requirements, selectable := selector.Requirements()
	if !selectable {
		return labelTerms{}, false
	}
	terms.all = mergedTerms(requirements)
	if len(terms.all) > fewTerms {
		terms.index()
	}
	return terms, true
}

func mergedTerms(requirements labels.Requirements) []labelTerm {
	type termKey struct {
		key string
		op  labelOp
	}
	var order []termKey
	terms := map[termKey][]labelTerm{}
	for i := range requirements {
		t := compileLabel(&requirements[i])
		k := termKey{t.key, t.op}
		if terms[k] == nil {
			order = append(order, k)
		}
		terms[k] = append(terms[k], t)
	}
	merged := make([]labelTerm, len(order))
	for i, k := range order {
		merged[i] = mergedTerm(terms[k])
	}
	return merged
}

// mergedTerm returns a term that matches when all given terms match. These have the same key and operator.
func mergedTerm(terms []labelTerm) labelTerm {
	merged := terms[0]
	var excluded []string
	for i := range terms {
		switch t := &terms[i]; t.op {
		case labelIn:
			merged.values = merged.values.intersection(&t.values)
		case labelNotIn:
			excluded = append(excluded, t.values.sorted...)
		case labelGreater:
			if t.bound > merged.bound {
				merged = *t
			}
		case labelLess:
			if t.bound < merged.bound {
				merged = *t
			}
		case labelExists, labelAbsent, labelNever: // such terms have no values, so all are equal
		}
	}
	if merged.op == labelNotIn && len(terms) > 1 {
		merged.values = newValueSet(excluded)
	}
	return merged
}

func (l *labelTerms) index() {
	l.byKey = make(map[string][]*labelTerm, len(l.all))
	for i := range l.all {
		t := &l.all[i]
		l.byKey[t.key] = append(l.byKey[t.key], t)
		if t.needsKey() {
			l.required++
		}
	}
}

func (l *labelTerms) match(set LabelSet) bool {
	if l.byKey != nil {
		return l.matchByKey(set)
	}
	for i := range l.all {
		if !l.all[i].matches(set) {
			return false
		}
	}
	return true
}

func (l *labelTerms) matchByKey(set LabelSet) bool {
	required := l.required
	var key string
	for position, keys := 0, set.keys; keys != ""; position++ {
		key, keys = cutText(keys)
		for _, t := range l.byKey[key] {
			if !t.matchesValue(textAt(set.values, position)) {
				return false
			}
			if t.needsKey() {
				required--
			}
		}
	}
	return required == 0
}
