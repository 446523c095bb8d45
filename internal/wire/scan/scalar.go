package scan

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// Text consumes a string and returns the bytes between its quotes, including escapes.
func (s *Scanner) Text() ([]byte, error) {
	if s.Peek() != '"' {
		return nil, s.Fail("expected a string")
	}
	start := s.Pos + 1
	for s.Pos = start; ; {
		s.Pos += PlainLen(s.Data[s.Pos:])
		if s.Pos == len(s.Data) {
			return nil, s.Fail("unterminated string")
		}
		switch s.Data[s.Pos] {
		case '"':
			s.Pos++
			return s.Data[start : s.Pos-1], nil
		case '\\':
			n := escapeLen(s.Data[s.Pos:])
			if n == 0 {
				return nil, s.Fail("invalid escape")
			}
			s.Pos += n
		default:
			return nil, s.Fail("control character in a string")
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// PlainLen counts the leading bytes that are not a quote, a backslash or a control character. It compares eight bytes
// at a time. Most strings are short, and bytes.IndexByte costs more for short strings.
func PlainLen(data []byte) int {
	i := 0
	for ; i+8 <= len(data); i += 8 {
		word := binary.LittleEndian.Uint64(data[i:])
		quote, slash := word^ones*'"', word^ones*'\\'
		found := ((quote-ones)&^quote | (slash-ones)&^slash | (word-ones*' ')&^word) & highs
		if found != 0 { // the lowest set bit is exact; a borrow may have set higher bits
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(data); i++ {
		if c := data[i]; c == '"' || c == '\\' || c < ' ' {
			break
		}
	}
	return i
}

func escapeLen(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	switch data[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(data) < 6 {
			return 0
		}
		for _, c := range data[2:6] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}

func (s *Scanner) skipScalar() error {
	switch s.Peek() {
	case '"':
		_, err := s.Text()
		return err
	case 't':
		return s.Literal("true")
	case 'f':
		return s.Literal("false")
	case 'n':
		return s.Literal("null")
	}
	return s.number()
}

// Literal consumes the given text, such as true.
func (s *Scanner) Literal(text string) error {
	if end := s.Pos + len(text); end <= len(s.Data) && string(s.Data[s.Pos:end]) == text {
		s.Pos = end
		return nil
	}
	return s.Fail("expected " + text)
}

// number consumes -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?
func (s *Scanner) number() error {
	s.accept("-")
	if !s.accept("0") && s.digits() == 0 {
		return s.Fail("expected a value")
	}
	if s.accept(".") && s.digits() == 0 {
		return s.Fail("expected a digit")
	}
	if s.accept("eE") {
		s.accept("-+")
		if s.digits() == 0 {
			return s.Fail("expected a digit")
		}
	}
	return nil
}

func (s *Scanner) accept(set string) bool {
	if s.Pos == len(s.Data) {
		return false
	}
	for i := range len(set) {
		if s.Data[s.Pos] == set[i] {
			s.Pos++
			return true
		}
	}
	return false
}

func (s *Scanner) digits() int {
	start := s.Pos
	for s.Pos < len(s.Data) && s.Data[s.Pos] >= '0' && s.Data[s.Pos] <= '9' {
		s.Pos++
	}
	return s.Pos - start
}

// Unquote returns the text of a string from the bytes between its quotes.
func Unquote(raw []byte) string {
	for _, c := range raw {
		if c == '\\' {
			return Unescape(raw)
		}
	}
	return string(raw)
}

// Unescape is like Unquote, for strings with escapes.
func Unescape(raw []byte) string {
	quoted := append(append([]byte{'"'}, raw...), '"')
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return string(raw)
	}
	return text
}
