package facade

const (
	// quietFor is the number of consecutive readings with little allocation after which the process counts as idle.
	quietFor = 5
	// quietShare is the share of the unused memory up to which an allocation counts as little.
	quietShare = 1.0 / 32
	// worthReturning is the minimum number of unused bytes that is worth a collection.
	worthReturning = 16 << 20
)

// quiet detects an idle process. After a list or many reads, much memory may be unused: half as much as the process
// needs. Go would keep it for minutes, and some of it forever, because an idle process starts no collection. The zero
// value is ready to use.
type quiet struct {
	added uint64 // at the last reading
	looks int    // consecutive readings with little allocation
}

// idle reports whether memory should be returned to the kernel. It returns true once each time the process becomes
// idle. added is the number of bytes allocated since the start, and unused the number of heap bytes that are not live.
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
