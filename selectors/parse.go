package selectors

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// ParseLabels parses a labelSelector parameter; "" selects everything. It returns *InvalidError for an invalid selector
// (semantics 5.1).
func ParseLabels(s string) (labels.Selector, error) {
	selector, err := labels.Parse(s)
	if err != nil {
		return nil, &InvalidError{Selector: s, cause: err}
	}
	return selector, nil
}

// ParseFields parses the syntax of a fieldSelector parameter; "" selects everything. It returns *InvalidError for an
// invalid selector (semantics 5.2). kube-apiserver converts the field labels only after it has validated the other list
// options. Callers must do the same with ConvertFields, so that a request with several errors gets the same message
// (semantics 1.1).
func ParseFields(s string) (fields.Selector, error) {
	selector, err := fields.ParseSelector(s)
	if err != nil {
		return nil, &InvalidError{Selector: s, cause: err}
	}
	return selector, nil
}

// ConvertFields returns the selector f, which comes from ParseFields, with the kind's canonical field labels. It
// returns *InvalidError, which wraps an *UnsupportedFieldError for the first unsupported term in the order of the
// terms' text (semantics 5.3). For nil it returns nil.
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

func (k *Kind) convert(label, value string) (newLabel, newValue string, err error) {
	canonical, ok := k.accepted[label]
	if !ok {
		return "", "", &UnsupportedFieldError{Field: label, message: k.refuse(k.gvk, label)}
	}
	return canonical, value, nil
}

// PinName adds the object name in a request's path to its converted field selector, as kube-apiserver does for list and
// watch. A selector that is not empty must already require this name, else PinName returns ErrNameMismatch (semantics
// 5.5).
func PinName(f fields.Selector, name string) (fields.Selector, error) {
	if f == nil || f.Empty() {
		return fields.OneTermEqualSelector(nameLabel, name), nil
	}
	if required, ok := f.RequiresExactMatch(nameLabel); !ok || required != name {
		return nil, ErrNameMismatch
	}
	return f, nil
}
