package price

// CPU of the facade in seconds.
const (
	// FacadeRequest is the price of a GET of one object: 165 to 644 µs (docs/benchmarks.md).
	FacadeRequest = 350e-6
	// FacadeForward is the price of a forwarded request: the work on both connections, and the review of the caller.
	FacadeForward = 1e-3
	// FacadeOpen is the price of opening a watch: 123 to 184 µs (docs/benchmarks/callers.txt,
	// docs/benchmarks/watches.txt).
	FacadeOpen = 160e-6
	// FacadeEvent is the price of an event for one watch: 11.9 ms for 200 watches (docs/benchmarks.md).
	FacadeEvent = 60e-6

	// facadeObject is the price of each object in a list. A list of 20,000 pods costs 15.0 ms with compression, because
	// its pages are precompressed (docs/benchmarks.md).
	facadeObject = 0.75e-6
	// facadeByte is the price of each byte of a response without compression. A list of 20,000 pods costs 551 ms in JSON
	// (307 MB) and 431 ms in protobuf (225 MB).
	facadeByte = 1.8e-9
)

// FacadeCPU returns the seconds of CPU that the facade needs for the list.
func (l List) FacadeCPU() float64 {
	seconds := FacadeRequest + facadeObject*(l.Objects+l.Examined)
	if sent := l.Bytes * SentBytes[l.Encoding]; !l.Compressed || sent < minCompressed {
		seconds += facadeByte * sent
	}
	return seconds
}
