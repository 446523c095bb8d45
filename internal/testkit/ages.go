package testkit

import (
	"regexp"
	"strings"
	"time"
)

// ages are those of objects, as in "59s", "2m5s" and "12m". An age in days does not change while a test runs.
var ages = regexp.MustCompile(`\b\d+[smh](?:\d+[sm])?\b`)

// agesBetween is a text with the ages of another that was said before it, if none of its own is below that, or above
// the one in a third text that was said after it.
func agesBetween(before, got, after string) (aged string, between bool) {
	low, is, high := ages.FindAllString(before, -1), ages.FindAllString(got, -1), ages.FindAllString(after, -1)
	if len(low) != len(is) || len(high) != len(is) {
		return "", false
	}
	for i, age := range is {
		if low[i] != age && ageOf(age) < ageOf(low[i]) || high[i] != age && ageOf(age) > ageOf(high[i]) {
			return "", false
		}
	}
	next := 0
	return ages.ReplaceAllStringFunc(got, func(string) string { next++; return low[next-1] }), true
}

func ageOf(text string) time.Duration {
	age, _ := time.ParseDuration(text) // by the expression
	return age
}

// withAges is an answer with the ages of the one before it, if its own are between those and the ones after it.
func withAges(before, got, after *Answer) (*Answer, bool) {
	text, between := agesBetween(string(before.Body), string(got.Body), string(after.Body))
	aged := *got
	aged.Body = []byte(text)
	return &aged, between
}

// sameButAges tells whether what a program printed is what it printed before and after it, but for ages that are
// between the two, and for the width of columns, which depends on them.
func sameButAges(before, got, after string) bool {
	narrow := func(text string) string {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = strings.Join(strings.Fields(line), " ")
		}
		return strings.Join(lines, "\n")
	}
	aged, between := agesBetween(before, got, after)
	return between && narrow(aged) == narrow(before)
}
