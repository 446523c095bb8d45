package scan

import (
	"bytes"
	"fmt"
)

// maxDepth bounds nesting. kube-apiserver's decoder stops at 10,000 (encoding/json), so that no object that it serves
// is refused here; the rest is for the list and the frame around one.
const maxDepth = 10_000 + 16

// MalformedError says that bytes are not the JSON that they should be.
type MalformedError struct {
	Offset int // in the bytes that were scanned
	Reason string
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("malformed JSON at byte %d: %s", e.Offset, e.Reason)
}

// Scanner walks over JSON without decoding it. It accepts what encoding/json accepts: what is skipped is checked like
// what is looked at, since it is sent to clients, and scanned again, as it is. Its methods fail with a *MalformedError.
// Used by one goroutine.
type Scanner struct {
	Data   []byte
	Pos    int  // of the next byte
	Spaced bool // white space was met between values
}

// Fail is the error for what stands at the scanner's position.
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

// Peek is the next byte that is not white space; 0 at the end.
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

// Expect consumes one byte.
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

// skipNested consumes an object or an array without recursion, which hostile nesting would make costly.
func (s *Scanner) skipNested() error {
	open := nesting{}
	for {
		switch c := s.Peek(); c {
		case '{', '[':
			if open.depth == maxDepth {
				return s.Fail("nested too deeply")
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

// leave goes on behind a value: to the next one, or out of as many levels as end here.
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

// nesting is which brackets are open, a bit for each: 1 for an object.
type nesting struct {
	depth int
	few   uint64   // the first 64, all that real objects need
	many  []uint64 // the others
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

// closing is the bracket that ends the innermost level.
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

// Object consumes an object; member is called before each value and must consume it.
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

// Key consumes a member's key and colon, and returns the key's text.
func (s *Scanner) Key() ([]byte, error) {
	key, err := s.rawKey()
	if bytes.IndexByte(key, '\\') >= 0 {
		key = []byte(Unescape(key))
	}
	s.space()
	return key, err
}

// rawKey is Key without its text unescaped: managed fields are full of keys that nobody looks at.
func (s *Scanner) rawKey() ([]byte, error) {
	key, err := s.Text()
	if err != nil {
		return nil, err
	}
	return key, s.Expect(':')
}

// Array consumes an array; element is called before each value and must consume it.
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

// next consumes a comma, or the closing bracket and says so.
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

// End fails unless only white space is left.
func (s *Scanner) End() error {
	if s.space(); s.Pos < len(s.Data) {
		return s.Fail("more than one value")
	}
	return nil
}
