package scan

import (
	"strconv"
	"strings"
)

// Lookup returns the raw value at a dotted path in which array indexes are numbers. It returns false if there is no
// value, or if the JSON is malformed before the end of the value. The result aliases json.
func Lookup(json []byte, path string) ([]byte, bool) {
	s := Scanner{Data: json}
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
	value, err := s.Skip()
	return value, err == nil
}

// enter moves to the value of a member or an element, past the values before it.
func (s *Scanner) enter(step string) bool {
	switch s.Peek() {
	case '{':
		s.Pos++
		for s.Peek() == '"' {
			key, err := s.Key()
			if err != nil {
				return false
			}
			if string(key) == step {
				return true
			}
			if _, err := s.Skip(); err != nil || s.Peek() != ',' {
				return false
			}
			s.Pos++
		}
	case '[':
		index, err := strconv.Atoi(step)
		if err != nil {
			return false
		}
		s.Pos++
		for ; s.Peek() != ']'; index-- {
			if index == 0 {
				return true
			}
			if _, err := s.Skip(); err != nil || s.Peek() != ',' {
				return false
			}
			s.Pos++
		}
	}
	return false
}
