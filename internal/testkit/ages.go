package testkit

import (
	"regexp"
	"strings"
	"time"
)

// ages matches the ages of objects, such as "59s", "2m5s" and "12m". An age in days does not change during a test.
var ages = regexp.MustCompile(`\b\d+[smh](?:\d+[sm])?\b`)

// agesBetween replaces the ages in got by the ages in before. It reports whether each age in got is at least the age in
// before and at most the age in after.
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
	age, _ := time.ParseDuration(text) // ages matches only valid durations
	return age
}

// withAges returns a copy of got with the ages in before. It reports whether each age in got was between the ages in
// before and after.
func withAges(before, got, after *Answer) (*Answer, bool) {
	text, between := agesBetween(string(before.Body), string(got.Body), string(after.Body))
	aged := *got
	aged.Body = []byte(text)
	return &aged, between
}

// sameButAges reports whether got equals before, except for ages and for the width of columns, which depends on ages.
// Each age must be between the ages in before and after.
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
