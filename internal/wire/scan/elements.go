package scan

import "iter"

// Elements yields the values of a JSON array up to where it is malformed, none for anything else.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		s := Scanner{Data: array}
		if s.Peek() != '[' {
			return
		}
		s.Pos++
		for s.Peek() != ']' {
			value, err := s.Skip()
			if err != nil || !yield(value) || s.Peek() != ',' {
				return
			}
			s.Pos++
		}
	}
}

// Member returns the value of one key of a JSON object. Unlike Lookup it takes keys that hold dots, and enters no
// array.
func Member(object []byte, key string) ([]byte, bool) {
	s := Scanner{Data: object}
	if s.Peek() != '{' || !s.enter(key) {
		return nil, false
	}
	value, err := s.Skip()
	return value, err == nil
}
