package jsonwire

import "github.com/listfacade/listfacade/internal/wire/scan"

// Style is what a plain list of a kind, which may be empty, says of it.
type Style struct {
	ListKind string
	// Custom tells custom-resource style from built-in style (semantics 7.1, 7.2).
	Custom bool
}

// LearnStyle reads a plain list's body. It fails with a *scan.MalformedError.
func LearnStyle(body []byte) (Style, error) {
	list, err := SplitList(body, func(Row) error { return nil })
	if err != nil {
		return Style{}, err
	}
	if list.APIVersion == "" {
		return Style{}, &scan.MalformedError{Reason: "a list without type meta"}
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

// ListVersion is the resourceVersion of a list's body. It fails with a *scan.MalformedError.
func ListVersion(body []byte) (string, error) {
	list, err := SplitList(body, func(Row) error { return nil })
	return list.ResourceVersion, err
}
