package report

import (
	"fmt"
	"strings"
	"time"
)

// Duration formats a duration with about three digits.
func Duration(d time.Duration) string {
	switch {
	case d >= time.Second:
		return Number(d.Seconds()) + " s"
	case d >= time.Millisecond:
		return Number(float64(d)/1e6) + " ms"
	default:
		return Number(float64(d)/1e3) + " µs"
	}
}

// Number formats a number with about three digits. More digits would not be repeatable from run to run.
func Number(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.2f", f)
	}
}

// Size formats a number of bytes.
func Size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
}

// proseWidth is the maximum length of a line of Markdown, in bytes.
const proseWidth = 120

// wrap breaks prose into lines.
func wrap(text string) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > proseWidth {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return strings.Join(append(lines, line), "\n")
}

// String formats the median with the quartiles.
func (s Spread) String() string {
	return fmt.Sprintf("%s [%s, %s]", Duration(s.Median), Duration(s.Low), Duration(s.High))
}
