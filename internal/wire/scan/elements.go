package scan

import "iter"

// Elements yields the values of a JSON array until the array ends or is malformed. It yields nothing for other values.
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

// Member returns the value of one key of a JSON object. Unlike Lookup, it accepts keys that contain dots, and does not
// enter arrays.
func Member(object []byte, key string) ([]byte, bool) {
	s := Scanner{Data: object}
	if s.Peek() != '{' || !s.enter(key) {
		return nil, false
	}
	value, err := s.Skip()
	return value, err == nil
}
