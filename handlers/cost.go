package handlers

import (
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/selectors"
)

// cost is the class of the work that a forwarded request causes in the upstream.
type cost int

const (
	small cost = iota // one object, a page, a list from an index, or another short request
	large             // another list, or a watch that begins with objects
	free              // a watch without initial objects, or another long-running request
)

// unknownSeats is the number of seats of a forwarded list with unknown size. No forwarded list takes more seats.
const unknownSeats = 8

// bytesPerSeat is the number of bytes of a list that one seat represents.
const bytesPerSeat = 1 << 20

func seatsFor(bytes int64) int64 {
	if bytes == 0 {
		return unknownSeats
	}
	return min(1+bytes/bytesPerSeat, unknownSeats)
}

// costOf estimates the cost of a request from its query, as kube-apiserver does before it queues a request. It does not
// use the parsed options, because a forwarded request may have none, or invalid options.
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

// beginsWithObjects reports whether a watch first receives all objects. This is so for streaming lists, and for watches
// without a resourceVersion or at version 0 (semantics 4.1).
func (q *Request) beginsWithObjects() bool {
	if asked, ok := q.query["sendInitialEvents"]; ok {
		return asked[0] != "0" && !strings.EqualFold(asked[0], "false")
	}
	version := q.query.Get("resourceVersion")
	return version == "" || version == "0"
}

// pageOfClients is the page size of client-go and kubectl, in objects.
const pageOfClients = 500

// isPage reports whether a list has a limit that bounds the upstream's work. At version 0, the upstream ignores the
// limit if it reads from its cache (semantics 2.1). For a selector at an exact version, the upstream possibly searches
// all objects.
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
	return q.query.Get("labelSelector") != "" || q.query.Get("fieldSelector") != "" || q.selectsShards()
}

func (q *Request) atExactVersion() bool {
	version := q.query.Get("resourceVersion")
	return q.query.Get("continue") != "" || version != "" && version != "0" &&
		q.query.Get("resourceVersionMatch") != "NotOlderThan"
}

// isIndexed reports whether the upstream finds the objects in an index, such as the pods of a node for each kubelet.
func (q *Request) isIndexed() bool {
	fields, err := selectors.ParseFields(q.query.Get("fieldSelector"))
	if err != nil || q.atExactVersion() {
		return false
	}
	_, byNode := fields.RequiresExactMatch(nodeField)
	return byNode && indexesNode(q.groupResource())
}

func (q *Request) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: q.info.APIGroup, Resource: q.info.Resource}
}

// resourceName returns the request's resource as the name of a queue. All requests without a resource share one queue.
func (q *Request) resourceName() string { return q.groupResource().String() }

// sizes stores the size of each resource in its last complete list from the upstream. It is safe for concurrent use.
type sizes struct {
	mu    sync.Mutex // guards bytes
	bytes map[schema.GroupResource]int64
}

func newSizes() *sizes { return &sizes{bytes: map[schema.GroupResource]int64{}} }

func (s *sizes) of(q *Request) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes[q.groupResource()]
}

// note stores the size of a response if it contains all objects of a resource without a transformation. It ignores
// resources that are not in discovery, because clients could send any number of other names.
func (s *sizes) note(q *Request, bytes int64) {
	transformed := strings.Contains(q.header.Get("Accept"), "as=")
	if q.info.Namespace != "" || q.selects() || transformed || q.query.Get("continue") != "" || !q.Event.Discovered {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes[q.groupResource()] = bytes
}
