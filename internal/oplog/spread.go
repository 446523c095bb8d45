package oplog

import (
	"math"
	"time"
)

// spread is a histogram of durations. The limit of each bucket is 1.5 times the limit of the previous bucket. The first
// limit is 100 µs. The last bucket is for all durations above 97 s.
type spread [36]uint32

const (
	shortest = 100 * time.Microsecond
	growth   = 1.5
)

var perBucket = 1 / math.Log(growth)

func (s *spread) add(d time.Duration) {
	if d <= shortest {
		s[0]++
		return
	}
	s[min(len(s)-1, 1+int(math.Log(float64(d)/float64(shortest))*perBucket))]++
}

// quantile returns the geometric middle of the bucket that contains the quantile; 0 if nothing was counted.
func (s *spread) quantile(q float64) time.Duration {
	all := uint64(0)
	for _, n := range s {
		all += uint64(n)
	}
	if all == 0 {
		return 0
	}
	rank, seen := uint64(math.Ceil(q*float64(all))), uint64(0)
	for i, n := range s {
		if seen += uint64(n); seen >= rank {
			return time.Duration(float64(shortest) * math.Pow(growth, float64(i)-0.5))
		}
	}
	return 0
}
