package cache

import (
	"time"

	"github.com/listfacade/listfacade/internal/wire"
)

const (
	// judged is the minimum number of packed objects for judging a dictionary.
	judged = 512
	// lasting is the minimum lifetime of a dictionary.
	lasting = 10 * time.Minute
	// Lane.Pack makes another dictionary when the ratio of packed to plain bytes is fallen times that of the time when the
	// dictionary was made.
	fallen = 2
)

// shrinkage measures how much recently packed objects shrank. Older objects count less.
type shrinkage struct {
	objects       int
	plain, packed int64
}

func (s *shrinkage) note(packed *wire.Item) {
	if s.objects == 2*judged {
		s.objects, s.plain, s.packed = s.objects/2, s.plain/2, s.packed/2
	}
	s.objects++
	s.plain += int64(packed.Size())
	s.packed += int64(packed.Memory())
}

// ratio returns packed bytes divided by plain bytes, or 1 if no object was noted.
func (s *shrinkage) ratio() float64 {
	if s.plain == 0 {
		return 1
	}
	return float64(s.packed) / float64(s.plain)
}

// hasFallen reports whether objects shrink much less than when the dictionary was made.
func (s *shrinkage) hasFallen(d *learned, now time.Time) bool {
	return s.objects >= judged && now.Sub(d.at) >= lasting && s.ratio() > fallen*d.ratio
}

// recent is a ring of the last packed objects: the samples of the next dictionary.
type recent struct {
	objects []*Object
	next    int // index of the oldest object, which is replaced next
}

func (r *recent) note(o *Object) {
	if len(r.objects) < sampled {
		r.objects = append(r.objects, o)
		return
	}
	r.objects[r.next] = o
	r.next = (r.next + 1) % sampled
}
