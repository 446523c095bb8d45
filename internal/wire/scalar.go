package wire

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// str consumes a string and returns what stands between its quotes, escapes included.
func (s *scanner) str() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.fail("expected a string")
	}
	start := s.pos + 1
	for s.pos = start; ; {
		s.pos += plainLen(s.data[s.pos:])
		if s.pos == len(s.data) {
			return nil, s.fail("unterminated string")
		}
		switch s.data[s.pos] {
		case '"':
			s.pos++
			return s.data[start : s.pos-1], nil
		case '\\':
			n := escapeLen(s.data[s.pos:])
			if n == 0 {
				return nil, s.fail("invalid escape")
			}
			s.pos += n
		default:
			return nil, s.fail("control character in a string")
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plainLen counts the leading bytes that are neither a quote, a backslash nor a control character, eight at a time: most of
// an object is short strings, for which bytes.IndexByte costs more than it saves.
func plainLen(data []byte) int {
	i := 0
	for ; i+8 <= len(data); i += 8 {
		word := binary.LittleEndian.Uint64(data[i:])
		quote, slash := word^ones*'"', word^ones*'\\'
		found := ((quote-ones)&^quote | (slash-ones)&^slash | (word-ones*' ')&^word) & highs
		if found != 0 { // its lowest bit is exact, those above may be borrowed
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

// escapeLen is the length of the escape that data begins with, 0 if it is none.
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

// skipScalar consumes a string, a number or a literal.
func (s *scanner) skipScalar() error {
	switch s.peek() {
	case '"':
		_, err := s.str()
		return err
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.number()
}

func (s *scanner) literal(text string) error {
	if end := s.pos + len(text); end <= len(s.data) && string(s.data[s.pos:end]) == text {
		s.pos = end
		return nil
	}
	return s.fail("expected " + text)
}

// number consumes -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?
func (s *scanner) number() error {
	s.accept("-")
	if !s.accept("0") && s.digits() == 0 {
		return s.fail("expected a value")
	}
	if s.accept(".") && s.digits() == 0 {
		return s.fail("expected a digit")
	}
	if s.accept("eE") {
		s.accept("-+")
		if s.digits() == 0 {
			return s.fail("expected a digit")
		}
	}
	return nil
}

// accept consumes a byte if it is one of set.
func (s *scanner) accept(set string) bool {
	if s.pos == len(s.data) {
		return false
	}
	for i := range len(set) {
		if s.data[s.pos] == set[i] {
			s.pos++
			return true
		}
	}
	return false
}

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

// unquote returns the text of a string as it stands between its quotes.
func unquote(raw []byte) string {
	for _, c := range raw {
		if c == '\\' {
			return unescape(raw)
		}
	}
	return string(raw)
}

func unescape(raw []byte) string {
	quoted := append(append([]byte{'"'}, raw...), '"')
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return string(raw)
	}
	return text
}
