package facade

import "testing"

// The flag accepts quantities and numbers, and refuses invalid values.
func TestSizeFlag(t *testing.T) {
	for text, want := range map[string]Size{"0": 0, "10Gi": 10 << 30, "500M": 500_000_000, "1024": 1024} {
		var s, again Size
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%s: got %d, %v, want %d", text, s, err, want)
		}
		if err := again.Set(s.String()); err != nil || again != s {
			t.Errorf("%s: parsed as %d and printed as %s: %v", text, s, &s, err)
		}
	}
	for _, text := range []string{"", "much", "-1", "auto"} {
		var s Size
		if err := s.Set(text); err == nil {
			t.Errorf("%q: accepted as %d", text, s)
		}
	}
}
