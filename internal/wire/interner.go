package wire

import "sync"

const (
	// maxInterned bounds an interner: the label values, namespaces and nodes of a large cluster are some 20,000.
	maxInterned = 1 << 16
	// maxInternedLen is the length in bytes above which texts are not expected to repeat; label values have at most 63.
	maxInternedLen = 128
)

// Interner makes equal texts share their memory: a cluster has thousands of pods and a few hundred label values. The
// unique package forgets a text at the next collection unless its handle is kept, and handles would show in every type
// that holds a label. Safe for concurrent use; a nil interner shares nothing.
type Interner struct {
	mu    sync.Mutex
	known map[string]string // guarded by mu
}

// NewInterner knows no text yet.
func NewInterner() *Interner { return &Interner{known: map[string]string{}} }

// Share returns text as a string.
func (n *Interner) Share(text []byte) string {
	if n == nil || len(text) > maxInternedLen {
		return string(text)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if known, ok := n.known[string(text)]; ok {
		return known
	}
	if len(n.known) == maxInterned {
		clear(n.known) // what is in use still is; it is shared anew from here on
	}
	fresh := string(text)
	n.known[fresh] = fresh
	return fresh
}
