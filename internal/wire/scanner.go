package wire

import "fmt"

// maxDepth bounds nesting; kube-apiserver's own decoder stops at 10,000, and no served object comes near a tenth of this.
const maxDepth = 1000

// MalformedError says that bytes are not the JSON that they should be.
type MalformedError struct {
	Offset int // in the bytes that were scanned
	Reason string
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("malformed JSON at byte %d: %s", e.Offset, e.Reason)
}

// scanner walks over JSON without decoding it. It checks structure: nesting, terminated strings, complete values. What is
// inside scalars is the upstream's word.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) fail(reason string) error { return &MalformedError{Offset: s.pos, Reason: reason} }

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek is the next byte that is not white space; 0 at the end.
func (s *scanner) peek() byte {
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

// str consumes a string and returns what stands between its quotes, escapes included.
func (s *scanner) str() ([]byte, error) {
	if err := s.expect('"'); err != nil {
		return nil, err
	}
	start := s.pos
	for i := start; i < len(s.data); i++ {
		switch s.data[i] {
		case '"':
			s.pos = i + 1
			return s.data[start:i], nil
		case '\\':
			i++
		}
	}
	s.pos = len(s.data)
	return nil, s.fail("unterminated string")
}

// skip consumes one value and returns its bytes.
func (s *scanner) skip() ([]byte, error) {
	c := s.peek()
	start := s.pos
	switch c {
	case 0:
		return nil, s.fail("missing value")
	case '"':
		_, err := s.str()
		return s.data[start:s.pos], err
	case '{', '[':
		err := s.skipNested()
		return s.data[start:s.pos], err
	default:
		err := s.skipScalar()
		return s.data[start:s.pos], err
	}
}

func (s *scanner) skipScalar() error {
	start := s.pos
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != '-' && c != '+' && c != '.' && c != 'E' {
			break
		}
		s.pos++
	}
	if s.pos == start {
		return s.fail("unexpected character")
	}
	return nil
}

// skipNested consumes an object or an array without looking at what is in it.
func (s *scanner) skipNested() error {
	var stack [maxDepth / 8]byte // a bit for each open level: 1 for an object
	depth := 0
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case '"':
			if _, err := s.str(); err != nil {
				return err
			}
			continue
		case '{', '[':
			if depth == maxDepth {
				return s.fail("nested too deeply")
			}
			stack[depth/8] &^= 1 << (depth % 8)
			if c == '{' {
				stack[depth/8] |= 1 << (depth % 8)
			}
			depth++
		case '}', ']':
			depth--
			if object := stack[depth/8]>>(depth%8)&1 == 1; object != (c == '}') {
				return s.fail("mismatched bracket")
			}
			if depth == 0 {
				s.pos++
				return nil
			}
		}
		s.pos++
	}
	return s.fail("unterminated value")
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

func (s *scanner) key() ([]byte, error) {
	key, err := s.str()
	if err != nil {
		return nil, err
	}
	if err := s.expect(':'); err != nil {
		return nil, err
	}
	s.space()
	return key, nil
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
	if s.peek() != 0 {
		return s.fail("more than one value")
	}
	return nil
}
