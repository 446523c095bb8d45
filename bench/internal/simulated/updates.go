package simulated

import (
	"encoding/json"
	"net/http"
	"time"
)

// UpdatesPath is the path to which clients post Updates as JSON. The server responds after the last update.
const UpdatesPath = "/simulated/updates"

// Updates describes changes of one pod after the other at a steady rate.
type Updates struct {
	Count int
	Every time.Duration
	Among int // number of different pods, at equal distances, changed in a mixed order
}

// Pod returns the number of the n-th changed pod, out of the given number of pods.
func (u Updates) Pod(n, pods int) int { return n % u.Among * (pods / u.Among) }

// stride mixes the order of updates. It is a prime that does not divide Among.
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
