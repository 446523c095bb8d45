package facade

const (
	// quietFor is the number of consecutive readings with little allocation after which the process is idle.
	quietFor = 5
	// quietShare is the maximum allocation between two readings that counts as little, as a share of the unused memory.
	quietShare = 1.0 / 32
	// worthReturning is the minimum number of unused bytes for which a collection is worth its cost.
	worthReturning = 16 << 20
)

// quiet detects an idle process. After a list or many reads, much memory may be unused, and Go would keep it for
// minutes. The zero value is ready to use.
type quiet struct {
	added uint64 // bytes allocated before the last reading
	looks int    // consecutive readings with little allocation
}

// idle reports whether memory should be returned to the kernel. It returns true at most once each time the process
// becomes idle. added is the number of bytes allocated since the start. unused is the number of heap bytes that are not
// live.
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
