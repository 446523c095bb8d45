package price

// Bounds is an estimate, with a range, of seconds of CPU or of a number of events. The range should contain the true
// value, unless the machine differs much from that of docs/benchmarks.md.
type Bounds struct {
	Low      float64 `json:"low"`
	Estimate float64 `json:"estimate"`
	High     float64 `json:"high"`
}

// Exactly returns Bounds without a range.
func Exactly(seconds float64) Bounds { return Bounds{seconds, seconds, seconds} }

// Around returns an estimate with the range from seconds/factor to seconds*factor.
func Around(seconds, factor float64) Bounds {
	return Bounds{seconds / factor, seconds, seconds * factor}
}

// Plus returns the sum. The errors of both estimates are assumed to have the same direction, because both depend on the
// machine.
func (b Bounds) Plus(other Bounds) Bounds {
	return Bounds{b.Low + other.Low, b.Estimate + other.Estimate, b.High + other.High}
}

// Minus returns the difference, with the largest possible range.
func (b Bounds) Minus(other Bounds) Bounds {
	return Bounds{b.Low - other.High, b.Estimate - other.Estimate, b.High - other.Low}
}

// Times returns the Bounds multiplied by n, which must not be negative.
func (b Bounds) Times(n float64) Bounds { return Bounds{n * b.Low, n * b.Estimate, n * b.High} }
