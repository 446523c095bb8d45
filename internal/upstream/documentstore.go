package upstream

import (
	"sync"

	"k8s.io/utils/lru"
)

// documentOverhead is the approximate memory of a stored document's headers, in bytes.
const documentOverhead = 2 << 10

// documentStore keeps the most recently used documents within a budget. Safe for concurrent use.
type documentStore struct {
	budget int // maximum total size of the documents, in bytes

	mu sync.Mutex // guards the fields below
	// *Document by key; only the budget limits the number of entries
	byUse *lru.Cache
	bytes int
}

func newDocumentStore(budget int) *documentStore {
	s := &documentStore{budget: budget}
	s.byUse = lru.NewWithEvictionFunc(0, func(key lru.Key, value any) { s.bytes -= value.(*Document).size(key.(string)) })
	return s
}

func (s *documentStore) get(key string) *Document {
	s.mu.Lock()
	defer s.mu.Unlock()
	document, ok := s.byUse.Get(key)
	if !ok {
		return nil
	}
	return document.(*Document)
}

// put stores a document. A single document that exceeds the budget is evicted, too.
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

func (d *Document) size(key string) int { return len(d.Body) + len(key) + documentOverhead }
