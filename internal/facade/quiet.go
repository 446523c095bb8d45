package facade

const (
	// quietFor is the number of consecutive readings with little allocation after which the process counts as idle.
	quietFor = 5
	// quietShare is the share of the unused memory up to which an allocation counts as little.
	quietShare = 1.0 / 32
	// worthReturning is the minimum of unused bytes that justifies a collection.
	worthReturning = 16 << 20
)

// quiet detects an idle process. After a fill or many reads, half as much memory as the process needs may be unused. Go
// would keep it for minutes, and some of it forever, because an idle process starts no collection. The zero value is
// ready to use.
type quiet struct {
	added uint64 // at the last reading
	looks int    // consecutive readings with little allocation
}

// idle receives the bytes ever allocated and the heap's bytes that are not live. It reports whether to return memory to
// the kernel, once each time the process becomes idle.
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
