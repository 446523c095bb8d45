package selectors

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// ParseLabels parses a labelSelector parameter; the empty text selects everything. It fails with *InvalidError
// (semantics 5.1).
func ParseLabels(s string) (labels.Selector, error) {
	selector, err := labels.Parse(s)
	if err != nil {
		return nil, &InvalidError{Selector: s, cause: err}
	}
	return selector, nil
}

// ParseFields parses the syntax of a fieldSelector parameter; the empty text selects everything. Its labels are still
// the request's: kube-apiserver converts them only after it has validated the other list options, so that a request
// with several mistakes is told about the same one here (semantics 1.1). It fails with *InvalidError (semantics 5.2).
func ParseFields(s string) (fields.Selector, error) {
	selector, err := fields.ParseSelector(s)
	if err != nil {
		return nil, &InvalidError{Selector: s, cause: err}
	}
	return selector, nil
}

// ConvertFields gives a selector of ParseFields the kind's canonical labels. It fails with *InvalidError, which wraps
// an *UnsupportedFieldError for the first term, in the order of the terms' text, that the kind does not offer
// (semantics 5.3). nil stays nil.
func (k *Kind) ConvertFields(f fields.Selector) (fields.Selector, error) {
	if f == nil {
		return nil, nil
	}
	converted, err := f.Transform(k.convert)
	if err != nil {
		return nil, &InvalidError{Selector: f.String(), cause: err}
	}
	return converted, nil
}

// convert is the kind's fields.TransformFunc.
func (k *Kind) convert(label, value string) (newLabel, newValue string, err error) {
	canonical, ok := k.accepted[label]
	if !ok {
		return "", "", &UnsupportedFieldError{Field: label, message: k.refuse(k.gvk, label)}
	}
	return canonical, value, nil
}

// PinName adds the object name of a request's path to its converted field selector, as kube-apiserver does for list and
// watch requests that have one. A selector that is not empty must ask for that very name already, else the result is
// ErrNameMismatch (semantics 5.5).
func PinName(f fields.Selector, name string) (fields.Selector, error) {
	if f == nil || f.Empty() {
		return fields.OneTermEqualSelector(nameLabel, name), nil
	}
	if asked, ok := f.RequiresExactMatch(nameLabel); !ok || asked != name {
		return nil, ErrNameMismatch
	}
	return f, nil
}
