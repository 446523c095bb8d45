package cache

import (
	"time"

	"github.com/listfacade/listfacade/internal/wire"
)

const (
	// judged is how many objects have to be packed to say how much they shrink.
	judged = 512
	// lasting is how long a dictionary lasts at the least.
	lasting = 10 * time.Minute
	// fallen is how many times as large as at first objects have to become for another dictionary to be made.
	fallen = 2
)

// shrinkage is how much the last objects that were packed have shrunk. What was long ago counts less.
type shrinkage struct {
	objects       int
	plain, packed int64
}

// note counts an object that was packed.
func (s *shrinkage) note(packed *wire.Item) {
	if s.objects == 2*judged {
		s.objects, s.plain, s.packed = s.objects/2, s.plain/2, s.packed/2
	}
	s.objects++
	s.plain += int64(packed.Size())
	s.packed += int64(packed.Memory())
}

// ratio is of packed bytes to plain ones; 1 when there are none.
func (s *shrinkage) ratio() float64 {
	if s.plain == 0 {
		return 1
	}
	return float64(s.packed) / float64(s.plain)
}

// hasFallen tells whether objects no longer shrink as they did when the dictionary was made, and another is due.
func (s *shrinkage) hasFallen(d *learned, now time.Time) bool {
	return s.objects >= judged && now.Sub(d.at) >= lasting && s.ratio() > fallen*d.ratio
}

// recent are the last objects that were packed, in any order: the samples of the next dictionary.
type recent struct {
	objects []*Object
	next    int // to be replaced
}

func (r *recent) note(o *Object) {
	if len(r.objects) < sampled {
		r.objects = append(r.objects, o)
		return
	}
	r.objects[r.next] = o
	r.next = (r.next + 1) % sampled
}
