package abuse

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/facade"
)

// Requests for random names or with random selectors are limited, and evict no cached decision of other callers.
func TestRandomNamesAndSelectorsAreRateLimited(t *testing.T) {
	const rate, burst = 5, 4 * 5
	s := newSite(t, func(c *facade.Config) { c.Authorization.MissRate, c.Authorization.AllowedTTL = rate, time.Hour })
	flooder, other := s.reader(t, "flooder"), s.reader(t, "other")
	other.served(t, s.configMaps())
	kept := func() float64 {
		return s.sum(t, "listfacade_authorization_decisions_total", `decision="allowed_cached"`)
	}
	before, began := s.reviews(t, "request"), time.Now()
	codes := map[int]int{}
	for i := range 1000 {
		path := fmt.Sprintf("%s/random-%d", s.configMaps(), i)
		if i%2 == 1 {
			path = fmt.Sprintf("%s?labelSelector=%s", s.configMaps(), strings.Repeat("a", i%60+1)+fmt.Sprintf("%%3D%d", i))
		}
		got := flooder.get(t, path)
		if got.code == http.StatusTooManyRequests {
			refused(t, got)
		}
		codes[got.code]++
		if i%100 == 0 {
			other.served(t, s.configMaps())
		}
	}
	reviews := s.reviews(t, "request") - before
	if most := burst + rate*time.Since(began).Seconds(); reviews > most {
		t.Errorf("%v reviews, want %v at most", reviews, most)
	}
	if codes[http.StatusTooManyRequests] == 0 || codes[http.StatusOK]+codes[http.StatusNotFound]+codes[http.StatusTooManyRequests] != 1000 {
		t.Errorf("the answers are %v", codes)
	}
	keptBefore, reviewsBefore := kept(), s.reviews(t, "request")
	other.served(t, s.configMaps())
	if kept() <= keptBefore || s.reviews(t, "request") != reviewsBefore {
		t.Error("a cached decision of the other caller was evicted")
	}
	flooder.becomes(t, s.configMaps()+"/random-0", http.StatusNotFound)
}
