package selectors

import (
	"strconv"
	"testing"
)

func FuzzParseInt64(f *testing.F) {
	for _, seed := range []string{
		"", "+", "-", "0", "-0", "+7", "007", "1_0", "0x1", " 1", "1e3", "a",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"000000000000000000000000000001", "99999999999999999999999999",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := strconv.ParseInt(s, 10, 64)
		got, ok := parseInt64(s)
		if ok != (err == nil) || (ok && got != want) {
			t.Errorf("parseInt64(%q) = %d, %v; strconv says %d, %v", s, got, ok, want, err)
		}
	})
}
