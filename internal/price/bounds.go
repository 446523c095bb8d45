package price

// Bounds is an estimate with the range that contains the true value, unless the machine differs much from the machine
// of docs/benchmarks.md. The unit is seconds of CPU.
type Bounds struct {
	Low      float64 `json:"low"`
	Estimate float64 `json:"estimate"`
	High     float64 `json:"high"`
}

// Exactly returns Bounds without a range.
func Exactly(seconds float64) Bounds { return Bounds{seconds, seconds, seconds} }

// Around returns an estimate whose true value is between the estimate divided by a factor and multiplied by it.
func Around(seconds, factor float64) Bounds {
	return Bounds{seconds / factor, seconds, seconds * factor}
}

// Plus returns the sum. The range of the sum assumes that both errors have the same direction, because both depend on
// the machine.
func (b Bounds) Plus(other Bounds) Bounds {
	return Bounds{b.Low + other.Low, b.Estimate + other.Estimate, b.High + other.High}
}

// Minus returns the difference. Its range is the largest possible one.
func (b Bounds) Minus(other Bounds) Bounds {
	return Bounds{b.Low - other.High, b.Estimate - other.Estimate, b.High - other.Low}
}

// Times returns the Bounds multiplied by a number that is not negative.
func (b Bounds) Times(n float64) Bounds { return Bounds{n * b.Low, n * b.Estimate, n * b.High} }
