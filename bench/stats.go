package main

import (
	"cmp"
	"slices"
)

// quantile returns the smallest value that is not less than a share q of all values. values must not be empty; q is
// from 0 to 1.
func quantile[T cmp.Ordered](values []T, q float64) T {
	sorted := slices.Sorted(slices.Values(values))
	at := int(q*float64(len(sorted))+0.9999999) - 1
	return sorted[max(0, min(at, len(sorted)-1))]
}

// median returns the middle value; for an even number of values, it is the lower one of the two in the middle.
func median[T cmp.Ordered](values []T) T { return quantile(values, 0.5) }
