package wire

import "iter"

// elements yields the values of a JSON array up to where it is malformed, none for anything else.
func elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		s := scanner{data: array}
		if s.peek() != '[' {
			return
		}
		s.pos++
		for s.peek() != ']' {
			value, err := s.skip()
			if err != nil || !yield(value) || s.peek() != ',' {
				return
			}
			s.pos++
		}
	}
}

// member returns the value of one key of a JSON object. Unlike Lookup it takes keys that hold dots, and enters no array.
func member(object []byte, key string) ([]byte, bool) {
	s := scanner{data: object}
	if s.peek() != '{' || !s.enter(key) {
		return nil, false
	}
	value, err := s.skip()
	return value, err == nil
}
