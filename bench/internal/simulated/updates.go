package simulated

import (
	"encoding/json"
	"net/http"
	"time"
)

// UpdatesPath is where Updates are posted, as JSON. The answer comes when all are done.
const UpdatesPath = "/simulated/updates"

// Updates is which pods are to change, one after the other at a steady rate.
type Updates struct {
	Count int
	Every time.Duration
	Among int // pods at equal distances, which change in a mixed order
}

// Pod is which of so many pods the n-th of those at equal distances is, of so many.
func (u Updates) Pod(n, pods int) int { return n % u.Among * (pods / u.Among) }

// stride mixes the order: it is a prime that divides no usual number.
const stride = 7919

func (s *Server) update(w http.ResponseWriter, r *http.Request) {
	var u Updates
	if err := json.NewDecoder(r.Body).Decode(&u); err != nil || u.Every <= 0 || u.Among < 1 || u.Among > s.pods.Len() {
		refuse(w, http.StatusBadRequest, "BadRequest")
		return
	}
	tick := time.NewTicker(u.Every)
	defer tick.Stop()
	for n := range u.Count {
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
		s.store.update(u.Pod(n*stride, s.pods.Len()))
	}
}
