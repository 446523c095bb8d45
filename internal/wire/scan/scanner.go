package scan

import (
	"bytes"
	"fmt"
)

// maxDepth is the maximum depth of nesting. kube-apiserver's decoder (encoding/json) allows 10,000 levels for an
// object. The other 16 levels are for the surrounding list or frame.
const maxDepth = 10_000 + 16

// MalformedError is returned for bytes that are not valid JSON, or not the expected JSON.
type MalformedError struct {
	Offset int // position in the scanned bytes; 0 also if it is unknown
	Reason string
}

func (e *MalformedError) Error() string {
	if e.Offset == 0 {
		return "malformed JSON: " + e.Reason
	}
	return fmt.Sprintf("malformed JSON at byte %d: %s", e.Offset, e.Reason)
}

// Scanner reads JSON without decoding it. It accepts the same input as encoding/json, except for maxDepth. It validates
// skipped values, too, because the facade sends them to clients unchanged and scans them again. Its methods fail with a
// *MalformedError. Used by one goroutine.
type Scanner struct {
	Data   []byte
	Pos    int  // position of the next byte
	Spaced bool // true if there was white space between values
}

// Fail returns an error for the current position.
func (s *Scanner) Fail(reason string) error { return &MalformedError{Offset: s.Pos, Reason: reason} }

func (s *Scanner) space() {
	for s.Pos < len(s.Data) {
		switch s.Data[s.Pos] {
		case ' ', '\t', '\n', '\r':
			s.Pos++
			s.Spaced = true
		default:
			return
		}
	}
}

// Peek returns the next byte that is not white space; 0 at the end.
func (s *Scanner) Peek() byte {
	if s.Pos < len(s.Data) && s.Data[s.Pos] > ' ' {
		return s.Data[s.Pos]
	}
	s.space()
	if s.Pos == len(s.Data) {
		return 0
	}
	return s.Data[s.Pos]
}

// Expect consumes white space and then the byte c. It fails if another byte comes next.
func (s *Scanner) Expect(c byte) error {
	if s.Peek() != c {
		return s.Fail(fmt.Sprintf("expected %q", c))
	}
	s.Pos++
	return nil
}

// Skip consumes one value and returns its bytes.
func (s *Scanner) Skip() ([]byte, error) {
	c := s.Peek()
	start := s.Pos
	var err error
	switch c {
	case 0:
		return nil, s.Fail("missing value")
	case '{', '[':
		err = s.skipNested()
	default:
		err = s.skipScalar()
	}
	return s.Data[start:s.Pos], err
}

// skipNested consumes an object or an array. It does not recurse, because deep nesting would need a large stack.
func (s *Scanner) skipNested() error {
	open := nesting{}
	for {
		switch c := s.Peek(); c {
		case '{', '[':
			if open.depth == maxDepth {
				return s.Fail(fmt.Sprintf("nested deeper than %d levels", maxDepth))
			}
			open.push(c)
			s.Pos++
			if s.Peek() == open.closing() {
				break
			}
			if c == '{' {
				if _, err := s.rawKey(); err != nil {
					return err
				}
			}
			continue
		default:
			if err := s.skipScalar(); err != nil {
				return err
			}
		}
		if err := s.leave(&open); open.depth == 0 || err != nil {
			return err
		}
	}
}

// leave moves from the end of a value to the next value, or out of all levels that end here.
func (s *Scanner) leave(open *nesting) error {
	for open.depth > 0 {
		closing := open.closing()
		switch c := s.Peek(); {
		case c == closing:
			s.Pos++
			open.depth--
		case c != ',':
			return s.Fail(fmt.Sprintf("expected ',' or %q", closing))
		default:
			s.Pos++
			if closing == ']' {
				return nil
			}
			_, err := s.rawKey()
			return err
		}
	}
	return nil
}

// nesting is the stack of open brackets, one bit each: 1 for an object, 0 for an array.
type nesting struct {
	depth int
	few   uint64   // the first 64 levels, sufficient for real objects
	many  []uint64 // deeper levels
}

func (n *nesting) push(c byte) {
	bit := uint64(1) << (n.depth % 64)
	word := &n.few
	if at := n.depth/64 - 1; at >= 0 {
		if at == len(n.many) {
			n.many = append(n.many, 0)
		}
		word = &n.many[at]
	}
	*word &^= bit
	if c == '{' {
		*word |= bit
	}
	n.depth++
}

func (n *nesting) closing() byte {
	at := n.depth - 1
	word := n.few
	if at >= 64 {
		word = n.many[at/64-1]
	}
	if word>>(at%64)&1 == 1 {
		return '}'
	}
	return ']'
}

// Object consumes an object. Before each value, it calls the function member, which must consume the value.
func (s *Scanner) Object(member func(key []byte) error) error {
	if err := s.Expect('{'); err != nil {
		return err
	}
	if s.Peek() == '}' {
		s.Pos++
		return nil
	}
	for {
		key, err := s.Key()
		if err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
		if done, err := s.next('}'); done || err != nil {
			return err
		}
	}
}

// Key consumes the key of a member and the colon, and returns the text of the key.
func (s *Scanner) Key() ([]byte, error) {
	key, err := s.rawKey()
	if bytes.IndexByte(key, '\\') >= 0 {
		key = []byte(Unescape(key))
	}
	s.space()
	return key, err
}

// rawKey is Key without unescaping, because most keys are only skipped.
func (s *Scanner) rawKey() ([]byte, error) {
	key, err := s.Text()
	if err != nil {
		return nil, err
	}
	return key, s.Expect(':')
}

// Array consumes an array. Before each value, it calls the function element, which must consume the value.
func (s *Scanner) Array(element func(index int) error) error {
	if err := s.Expect('['); err != nil {
		return err
	}
	if s.Peek() == ']' {
		s.Pos++
		return nil
	}
	for i := 0; ; i++ {
		s.space()
		if err := element(i); err != nil {
			return err
		}
		if done, err := s.next(']'); done || err != nil {
			return err
		}
	}
}

// next consumes a comma or the closing bracket. done is true for the closing bracket.
func (s *Scanner) next(closing byte) (done bool, err error) {
	switch s.Peek() {
	case ',':
		s.Pos++
		return false, nil
	case closing:
		s.Pos++
		return true, nil
	}
	return false, s.Fail(fmt.Sprintf("expected ',' or %q", closing))
}

// End returns an error unless only white space remains.
func (s *Scanner) End() error {
	if s.space(); s.Pos < len(s.Data) {
		return s.Fail("data after the end of the value")
	}
	return nil
}
