package selectors

// A list of texts is stored in one string. Each text follows its length, which is encoded with seven bits per byte,
// lowest bits first.

// longText is the minimum length in bytes of a long text. The length of a long text takes more than one byte.
const longText = 1 << 7

func appendText(dst []byte, text string) []byte {
	return append(appendLength(dst, len(text)), text...)
}

func appendLength(dst []byte, n int) []byte {
	for n >= longText {
		dst = append(dst, byte(n)|longText)
		n >>= 7
	}
	return append(dst, byte(n))
}

// cutText returns the first text and the remaining texts. Both are empty for an empty list.
func cutText(texts string) (first, others string) {
	if texts == "" || texts[0] >= longText {
		return cutLongText(texts)
	}
	n := 1 + int(texts[0])
	return texts[1:n], texts[n:]
}

func cutLongText(texts string) (first, others string) {
	n, rest := cutLength(texts)
	return rest[:n], rest[n:]
}

// cutLength returns the length at the beginning of a list, and the bytes after it.
func cutLength(texts string) (n int, rest string) {
	for i := range len(texts) {
		n |= int(texts[i]&(longText-1)) << (7 * i)
		if texts[i] < longText {
			return n, texts[i+1:]
		}
	}
	return 0, ""
}

// textAt returns the text at an index, or "" if there are fewer texts.
func textAt(texts string, position int) string {
	start := 0
	for start < len(texts) {
		n := int(texts[start])
		if n >= longText {
			return longTextAt(texts[start:], position)
		}
		start++
		if position == 0 {
			return texts[start : start+n]
		}
		position--
		start += n
	}
	return ""
}

func longTextAt(texts string, position int) string {
	for range position {
		_, texts = cutText(texts)
	}
	text, _ := cutText(texts)
	return text
}

// hasValues reports whether any text is not empty.
func hasValues(texts []byte) bool {
	for _, length := range texts { // all bytes before the first non-empty text are zero lengths
		if length != 0 {
			return true
		}
	}
	return false
}
