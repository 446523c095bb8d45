package selectors

// Texts stand one behind the other in one string, each behind its length, seven bits in a byte, the lowest first.

// longText is the length from which a text's length takes more than a byte.
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

// cutText returns the first of some texts, and the others. Of none, both are empty.
func cutText(texts string) (first, others string) {
	if texts == "" || texts[0] >= longText {
		return cutLongText(texts)
	}
	n := 1 + int(texts[0])
	return texts[1:n], texts[n:]
}

// cutLongText is cutText of texts that begin with a long one.
func cutLongText(texts string) (first, others string) {
	n, rest := cutLength(texts)
	return rest[:n], rest[n:]
}

// cutLength returns the length that some texts begin with, and what stands behind it.
func cutLength(texts string) (n int, rest string) {
	for i := range len(texts) {
		n |= int(texts[i]&(longText-1)) << (7 * i)
		if texts[i] < longText {
			return n, texts[i+1:]
		}
	}
	return 0, ""
}

// textAt returns the text at a position, empty when there are no so many.
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

// longTextAt is textAt of texts that begin with a long one.
func longTextAt(texts string, position int) string {
	for range position {
		_, texts = cutText(texts)
	}
	text, _ := cutText(texts)
	return text
}

// hasValues tells whether not all texts are empty.
func hasValues(texts []byte) bool {
	for _, length := range texts { // up to the first that is none
		if length != 0 {
			return true
		}
	}
	return false
}
