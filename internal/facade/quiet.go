package facade

const (
	// quietFor is for how many looks in a row little must have been added for the process to be quiet.
	quietFor = 5
	// quietShare is how much of the memory that lies unused is little.
	quietShare = 1.0 / 32
	// worthReturning is how many bytes have to lie unused for a collection to be worth them.
	worthReturning = 16 << 20
)

// quiet finds out that a process does little. After it was filled, or read by many, half as much memory as it needs
// lies unused, and Go would keep it for minutes, and some of it for good: it waits for garbage, of which there is none.
// The zero value is ready to be used.
type quiet struct {
	added uint64 // by the last look
	looks int    // in a row, before which little was added
}

// idle is told at each look how many bytes were ever added to the heap, and how many it has that are not live. It tells
// whether they are to be given back, once for each time that the process becomes quiet.
func (q *quiet) idle(added, unused uint64) bool {
	little := float64(added-q.added) <= quietShare*float64(max(unused, worthReturning))
	q.added = added
	if !little {
		q.looks = 0
		return false
	}
	q.looks++
	return q.looks == quietFor && unused >= worthReturning
}
