package handlers

import (
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/selectors"
)

// cost is what a request takes of the upstream when it is passed through.
type cost int

const (
	small cost = iota // one object, a page, whatever is no list
	large             // as many objects as there are
	free              // a watch that begins with no objects, and what kube-apiserver itself does not bound
)

// unknownSeats are those of a list whose size is not known, and of the largest.
const unknownSeats = 8

// bytesPerSeat is what one seat stands for.
const bytesPerSeat = 1 << 20

// seatsFor are the seats of a list with so many bytes; of unknown ones when there are none.
func seatsFor(bytes int64) int64 {
	if bytes == 0 {
		return unknownSeats
	}
	return min(1+bytes/bytesPerSeat, unknownSeats)
}

// costOf tells what a request costs by what it says itself, since some are passed through unread: their options were
// not looked at, or cannot be read. It goes by what kube-apiserver estimates before it queues a request.
func costOf(q *Request) cost {
	switch {
	case q.isWatch() && q.beginsWithObjects() || q.info.Verb == verbList:
		if q.info.Name != "" || q.isPage() || q.isIndexed() {
			return small
		}
		return large
	case q.runsLong():
		return free
	default:
		return small
	}
}

// beginsWithObjects tells a watch that is sent every object first: a streaming list, and a watch from any state
// (semantics 4.1).
func (q *Request) beginsWithObjects() bool {
	if asked, ok := q.query["sendInitialEvents"]; ok {
		return asked[0] != "0" && !strings.EqualFold(asked[0], "false")
	}
	version := q.query.Get("resourceVersion")
	return version == "" || version == "0"
}

// pageOfClients is how many objects client-go and kubectl ask for at a time.
const pageOfClients = 500

// isPage tells a list whose limit bounds the upstream's work. What it serves from its cache at version 0 has no limit
// (semantics 2.1), and what it selects at an exact version it may have to look for among all objects.
func (q *Request) isPage() bool {
	limit, err := strconv.ParseInt(q.query.Get("limit"), 10, 64)
	if q.isWatch() || err != nil || limit <= 0 || limit > pageOfClients {
		return false
	}
	if q.query.Get("resourceVersion") == "0" && !q.resource.ReadFromEtcd() {
		return false
	}
	return !q.selects() || !q.atExactVersion()
}

func (q *Request) selects() bool {
	return q.query.Get("labelSelector") != "" || q.query.Get("fieldSelector") != ""
}

// atExactVersion tells a list that is not answered from the newest state.
func (q *Request) atExactVersion() bool {
	version := q.query.Get("resourceVersion")
	return q.query.Get("continue") != "" || version != "" && version != "0" && q.query.Get("resourceVersionMatch") != "NotOlderThan"
}

// isIndexed tells what the upstream looks up in an index: the pods of a node, which every kubelet asks for.
func (q *Request) isIndexed() bool {
	fields, err := selectors.ParseFields(q.query.Get("fieldSelector"))
	if err != nil || q.atExactVersion() {
		return false
	}
	_, byNode := fields.RequiresExactMatch(nodeField)
	return byNode && indexesNode(q.groupResource())
}

// groupResource is what the path names.
func (q *Request) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: q.info.APIGroup, Resource: q.info.Resource}
}

// resourceName tells apart whose requests wait for one another; what is no resource waits together.
func (q *Request) resourceName() string { return q.groupResource().String() }

// sizes remembers how large resources were when the upstream was last asked for all of one. Safe for concurrent use.
type sizes struct {
	mu    sync.Mutex // guards bytes
	bytes map[schema.GroupResource]int64
}

func newSizes() *sizes { return &sizes{bytes: map[schema.GroupResource]int64{}} }

// of is the size in bytes of what a request is about; 0 when it is not known.
func (s *sizes) of(q *Request) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes[q.groupResource()]
}

// note remembers an answer's size, if it is that of a whole resource with whole objects. Only names that discovery
// knows are remembered, which are bounded.
func (s *sizes) note(q *Request, bytes int64) {
	transformed := strings.Contains(q.header.Get("Accept"), "as=")
	if q.info.Namespace != "" || q.selects() || transformed || q.query.Get("continue") != "" || !q.Event.Discovered {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes[q.groupResource()] = bytes
}
