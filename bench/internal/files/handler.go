package files

import (
	"bytes"
	"maps"
	"net/http"
	"path"
	"sync"
	"time"
)

// Handler sends the responses of a directory. It keeps the last requested set in memory. Safe for concurrent use.
type Handler struct {
	Directory Directory

	mu      sync.Mutex
	set     string
	answers map[string]answer // by path, of the current set; guarded by mu
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == Ping {
		return
	}
	a, err := h.find(path.Clean(r.URL.Path))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	maps.Copy(w.Header(), a.header)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.body))
}

// Ping is a path that all servers have. The response of this server is empty.
const Ping = "/readyz"

func (h *Handler) find(name string) (answer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if set := path.Dir(name); set != h.set {
		h.set, h.answers = set, map[string]answer{}
	}
	a, ok := h.answers[name]
	if ok {
		return a, nil
	}
	a, err := h.Directory.get(name)
	if err == nil {
		h.answers[name] = a
	}
	return a, err
}
