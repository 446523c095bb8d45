package abuse

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/facade"
)

// Requests for random names or with random selectors wait for each other, and the last ones are refused. They evict no
// cached decision of other callers, and delay none of their questions.
func TestRandomNamesAndSelectorsAreRateLimited(t *testing.T) {
	const rate, burst, floods = 5, 4 * 5, 300
	s := newSite(t, func(c *facade.Config) {
		c.Authorization.MissRate, c.Authorization.AllowedTTL = rate, time.Hour
		c.Limits.Requests, c.Limits.RequestsPerUser = 4*floods, 2*floods // or else most wait before their authorization
	})
	flooder, other := s.reader(t, "flooder"), s.reader(t, "other")
	other.served(t, s.configMaps())
	kept := func() float64 {
		return s.sum(t, "listfacade_authorization_decisions_total", `decision="allowed_cached"`)
	}
	before, began := s.reviews(t, "request"), time.Now()
	var flood sync.WaitGroup
	a := &attack{codes: map[string]map[int]int{}}
	for i := range floods {
		path := fmt.Sprintf("%s/random-%d", s.configMaps(), i)
		if i%2 == 1 {
			path = fmt.Sprintf("%s?labelSelector=%s", s.configMaps(), strings.Repeat("a", i%60+1)+fmt.Sprintf("%%3D%d", i))
		}
		flood.Go(func() {
			got := flooder.get(t, path)
			if got.code == http.StatusTooManyRequests {
				refused(t, got)
			}
			a.note("random", got.code)
		})
	}
	for i := range 10 {
		other.served(t, s.configMaps())
		s.reader(t, fmt.Sprint("new-", i)).served(t, s.configMaps())
	}
	flood.Wait()
	reviews := s.reviews(t, "request") - before
	if most := burst + 10 + rate*time.Since(began).Seconds(); reviews > most {
		t.Errorf("%v reviews, want %v at most", reviews, most)
	}
	codes := a.codes["random"]
	if codes[http.StatusTooManyRequests] == 0 || codes[http.StatusOK]+codes[http.StatusNotFound]+codes[http.StatusTooManyRequests] != floods {
		t.Errorf("the answers are %v", codes)
	}
	keptBefore, reviewsBefore := kept(), s.reviews(t, "request")
	other.served(t, s.configMaps())
	if kept() <= keptBefore || s.reviews(t, "request") != reviewsBefore {
		t.Error("a cached decision of the other caller was evicted")
	}
	flooder.becomes(t, s.configMaps()+"/random-0", http.StatusNotFound)
}
