package questions

import "testing"

// kindsApart is the step between two kinds with the same question in a short run. There are about seventy kinds, so
// each question is sent for eleven or twelve.
const kindsApart = 6

// share returns a kind's part of the common questions: all, or in a short run a part that differs between kinds.
func share[T any](kind int, all []T) []T { return everyNth(kindsApart, kind, all) }

// turn returns all forms of a question or, in a short run, one form that differs between the kinds with this question.
func turn[T any](kind int, all []T) []T { return everyNth(len(all), kind/kindsApart, all) }

// everyNth returns all elements or, in a short run, every nth one, with a start that depends on turn.
func everyNth[T any](n, turn int, all []T) []T {
	if !testing.Short() {
		return all
	}
	var part []T
	for i := turn % n; i < len(all); i += n {
		part = append(part, all[i])
	}
	return part
}
