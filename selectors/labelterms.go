package selectors

import "k8s.io/apimachinery/pkg/labels"

// labelTerms are the requirements of a label selector, compiled: one at most for a key and what is asked of it. However
// many a client sends, and however many values, matching costs no more than the object's labels do.
type labelTerms struct {
	all      []labelTerm
	byKey    map[string][]*labelTerm // nil when there are few, which are looked up in the object's labels
	required int                     // how many of all need their key, when byKey is there
}

// fewTerms is up to how many terms look up their keys in an object's labels; of more, each label looks up its terms.
const fewTerms = 8

// compileLabels compiles a selector. possible is false when it can match nothing whatever the labels.
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

// mergedTerms compiles requirements, those of the same key and operator into one.
func mergedTerms(requirements labels.Requirements) []labelTerm {
	type question struct {
		key string
		op  labelOp
	}
	var order []question
	asked := map[question][]labelTerm{}
	for i := range requirements {
		t := compileLabel(&requirements[i])
		q := question{t.key, t.op}
		if asked[q] == nil {
			order = append(order, q)
		}
		asked[q] = append(asked[q], t)
	}
	terms := make([]labelTerm, len(order))
	for i, q := range order {
		terms[i] = mergedTerm(asked[q])
	}
	return terms
}

// mergedTerm asks everything that some terms of one key and operator ask.
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
		case labelExists, labelAbsent, labelNever: // one says what all say
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
