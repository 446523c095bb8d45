package wire

import (
	"bytes"
	"fmt"
)

// maxDepth bounds nesting. kube-apiserver's decoder stops at 10,000 (encoding/json), so that no object that it serves is
// refused here; the rest is for the list and the frame around one.
const maxDepth = 10_000 + 16

// MalformedError says that bytes are not the JSON that they should be.
type MalformedError struct {
	Offset int // in the bytes that were scanned
	Reason string
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("malformed JSON at byte %d: %s", e.Offset, e.Reason)
}

// scanner walks over JSON without decoding it. It accepts what encoding/json accepts: what is skipped is checked like what
// is looked at, since it is sent to clients, and scanned again, as it is.
type scanner struct {
	data   []byte
	pos    int
	spaced bool // white space was met between values
}

func (s *scanner) fail(reason string) error { return &MalformedError{Offset: s.pos, Reason: reason} }

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
			s.spaced = true
		default:
			return
		}
	}
}

// peek is the next byte that is not white space; 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) && s.data[s.pos] > ' ' {
		return s.data[s.pos]
	}
	s.space()
	if s.pos == len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

// expect consumes one byte.
func (s *scanner) expect(c byte) error {
	if s.peek() != c {
		return s.fail(fmt.Sprintf("expected %q", c))
	}
	s.pos++
	return nil
}

// skip consumes one value and returns its bytes.
func (s *scanner) skip() ([]byte, error) {
	c := s.peek()
	start := s.pos
	var err error
	switch c {
	case 0:
		return nil, s.fail("missing value")
	case '{', '[':
		err = s.skipNested()
	default:
		err = s.skipScalar()
	}
	return s.data[start:s.pos], err
}

// skipNested consumes an object or an array without recursion, which hostile nesting would make costly.
func (s *scanner) skipNested() error {
	open := nesting{}
	for {
		switch c := s.peek(); c {
		case '{', '[':
			if open.depth == maxDepth {
				return s.fail("nested too deeply")
			}
			open.push(c)
			s.pos++
			if s.peek() == open.closing() {
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
func (s *scanner) leave(open *nesting) error {
	for open.depth > 0 {
		closing := open.closing()
		switch c := s.peek(); {
		case c == closing:
			s.pos++
			open.depth--
		case c != ',':
			return s.fail(fmt.Sprintf("expected ',' or %q", closing))
		default:
			s.pos++
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

// object consumes an object; member is called before each value and must consume it.
func (s *scanner) object(member func(key []byte) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		key, err := s.key()
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

// key consumes a member's key and colon, and returns the key's text.
func (s *scanner) key() ([]byte, error) {
	key, err := s.rawKey()
	if bytes.IndexByte(key, '\\') >= 0 {
		key = []byte(unescape(key))
	}
	s.space()
	return key, err
}

// rawKey is key without its text unescaped: managed fields are full of keys that nobody looks at.
func (s *scanner) rawKey() ([]byte, error) {
	key, err := s.str()
	if err != nil {
		return nil, err
	}
	return key, s.expect(':')
}

// array consumes an array; element is called before each value and must consume it.
func (s *scanner) array(element func(index int) error) error {
	if err := s.expect('['); err != nil {
		return err
	}
	if s.peek() == ']' {
		s.pos++
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
func (s *scanner) next(closing byte) (done bool, err error) {
	switch s.peek() {
	case ',':
		s.pos++
		return false, nil
	case closing:
		s.pos++
		return true, nil
	}
	return false, s.fail(fmt.Sprintf("expected ',' or %q", closing))
}

// end fails unless only white space is left.
func (s *scanner) end() error {
	if s.space(); s.pos < len(s.data) {
		return s.fail("more than one value")
	}
	return nil
}
