package jsonwire

import "github.com/listfacade/listfacade/internal/wire/scan"

// Style describes the lists of a kind. A plain list without items is enough to learn it.
type Style struct {
	ListKind string
	// Custom is true for custom-resource style, false for built-in style (semantics 7.1, 7.2).
	Custom bool
}

// LearnStyle reads the style from the body of a plain list. It fails with a *scan.MalformedError.
func LearnStyle(body []byte) (Style, error) {
	list, err := SplitList(body, func(Row) error { return nil })
	if err != nil {
		return Style{}, err
	}
	if list.APIVersion == "" {
		return Style{}, &scan.MalformedError{Reason: "list without type meta"}
	}
	s := scan.Scanner{Data: body}
	if err := s.Expect('{'); err != nil {
		return Style{}, err
	}
	first, err := s.Key()
	if err != nil {
		return Style{}, err
	}
	return Style{ListKind: list.Kind, Custom: string(first) == "apiVersion"}, nil
}

// ListVersion returns the resourceVersion of a list's body. It fails with a *scan.MalformedError.
func ListVersion(body []byte) (string, error) {
	list, err := SplitList(body, func(Row) error { return nil })
	return list.ResourceVersion, err
}
