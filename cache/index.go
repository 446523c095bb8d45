package cache

import "github.com/listfacade/listfacade/selectors"

// Index names a value by which a lane keeps its objects in a second order, so that a selector that asks for exactly
// one value reads its candidates only.
//
// An index only proposes; the predicate decides (I9). Objects that lack the value stand under the empty one.
type Index struct {
	value func(*Object) string
	exact func(*selectors.Predicate) (string, bool)
}

// FieldIndex indexes a selectable field: label is its canonical name ("spec.nodeName"), at its place (Kind.Place).
func FieldIndex(label string, at selectors.Place) Index {
	return Index{
		value: func(o *Object) string { return o.Field(at) },
		exact: func(p *selectors.Predicate) (string, bool) { return p.Exact(label) },
	}
}

// LabelIndex indexes the values of one label key.
func LabelIndex(key string) Index {
	return Index{
		value: func(o *Object) string { return o.Labels().Get(key) },
		exact: func(p *selectors.Predicate) (string, bool) { return p.ExactLabel(key) },
	}
}

// reindexed returns the index trees after before (nil when new) was replaced by after (nil when deleted).
func reindexed(indexes []tree, before, after *Object) []tree {
	if len(indexes) == 0 {
		return nil
	}
	next := make([]tree, len(indexes))
	for i, t := range indexes {
		if before != nil && (after == nil || t.value(before) != t.value(after)) {
			t = t.without(before)
		}
		if after != nil {
			t = t.put(after)
		}
		next[i] = t
	}
	return next
}
