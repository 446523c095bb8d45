package observe

import "testing"

func TestLinesArePrintable(t *testing.T) {
	const text, want = "read a\x1b[2J\u009b\x7f:\n\tpods \u00e9\n", "read a?[2J??:\n\tpods \u00e9\n"
	if got := PrintableLines(text); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
