package upstream

import (
	"sync"

	"k8s.io/utils/lru"
)

// documentOverhead is about what a kept document costs in bytes besides its body and key: its headers, in maps.
const documentOverhead = 2 << 10

// documentStore keeps the documents that were used last, as many as fit into a number of bytes. Each path has one for
// every form of it that clients ask for. Safe for concurrent use.
type documentStore struct {
	budget int // bytes

	mu    sync.Mutex // guards all below
	byUse *lru.Cache // of *Document by key; without a bound of its own, which would count entries
	bytes int
}

func newDocumentStore(budget int) *documentStore {
	s := &documentStore{budget: budget}
	s.byUse = lru.NewWithEvictionFunc(0, func(key lru.Key, value any) { s.bytes -= value.(*Document).size(key.(string)) })
	return s
}

// get is the document that is kept under a key; nil when none is.
func (s *documentStore) get(key string) *Document {
	s.mu.Lock()
	defer s.mu.Unlock()
	document, ok := s.byUse.Get(key)
	if !ok {
		return nil
	}
	return document.(*Document)
}

// put keeps a document in the place of the one that there is, and forgets those that were not used for longest when it
// is too much: the document itself, too, when that alone is.
func (s *documentStore) put(key string, document *Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byUse.Remove(key)
	s.byUse.Add(key, document)
	s.bytes += document.size(key)
	for s.bytes > s.budget {
		s.byUse.RemoveOldest()
	}
}

// size is about what a kept document costs in bytes.
func (d *Document) size(key string) int { return len(d.Body) + len(key) + documentOverhead }
