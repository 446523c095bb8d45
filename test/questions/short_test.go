package questions

import "testing"

// kindsApart is how many kinds of one question stand between two that are asked it in a short run: there are some
// seventy, so that each question is asked about eleven or twelve.
const kindsApart = 6

// share returns the questions that a kind is asked, of those that all kinds are asked: all of them, and in a short run
// a part, by turns.
func share[T any](kind int, all []T) []T { return everyNth(kindsApart, kind, all) }

// turn returns one of a few ways to ask in a short run, by turns among the kinds that share a question, and else all of
// them.
func turn[T any](kind int, all []T) []T { return everyNth(len(all), kind/kindsApart, all) }

// everyNth returns every nth element in a short run, beginning with another one at each turn, and else all elements.
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
