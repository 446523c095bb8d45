package wire

import (
	"strconv"
	"strings"
)

// Lookup returns the raw value at a dotted path, with array indexes as numbers; false when there is none or the bytes are
// malformed before it. The result aliases json.
func Lookup(json []byte, path string) ([]byte, bool) {
	s := scanner{data: json}
	for {
		step, rest, more := strings.Cut(path, ".")
		if !s.enter(step) {
			return nil, false
		}
		if !more {
			break
		}
		path = rest
	}
	value, err := s.skip()
	return value, err == nil
}

// enter moves to the value of a member or an element; what comes before it is skipped.
func (s *scanner) enter(step string) bool {
	switch s.peek() {
	case '{':
		s.pos++
		for s.peek() == '"' {
			key, err := s.key()
			if err != nil {
				return false
			}
			if string(key) == step {
				return true
			}
			if _, err := s.skip(); err != nil || s.peek() != ',' {
				return false
			}
			s.pos++
		}
	case '[':
		index, err := strconv.Atoi(step)
		if err != nil {
			return false
		}
		s.pos++
		for ; s.peek() != ']'; index-- {
			if index == 0 {
				return true
			}
			if _, err := s.skip(); err != nil || s.peek() != ',' {
				return false
			}
			s.pos++
		}
	}
	return false
}
