package main

import (
	"cmp"
	"slices"
)

// quantile is the smallest value that a share q of all are not above. values must not be empty; q is from 0 to 1.
func quantile[T cmp.Ordered](values []T, q float64) T {
	sorted := slices.Sorted(slices.Values(values))
	at := int(q*float64(len(sorted))+0.9999999) - 1
	return sorted[max(0, min(at, len(sorted)-1))]
}

// median is the middle of an odd number of values, and the lower one of the two in the middle of an even number.
func median[T cmp.Ordered](values []T) T { return quantile(values, 0.5) }
