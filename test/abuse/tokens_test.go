package abuse

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

const (
	guesses   = 1000
	guessers  = 16
	guessRate = 10 // a second and address; the default
)

// guess sends requests with many tokens from a few concurrent clients, and counts the answers by code.
func (s *site) guess(t *testing.T, token func(i int) string) map[int]int {
	t.Helper()
	var mu sync.Mutex
	codes := map[int]int{}
	var clients sync.WaitGroup
	for c := range guessers {
		v := s.visitor(t, &rest.Config{})
		clients.Go(func() {
			for i := c; i < guesses; i += guessers {
				got := v.with(t, v.client, token(i), s.configMaps())
				if got.code == http.StatusTooManyRequests {
					refused(t, got)
				}
				mu.Lock()
				codes[got.code]++
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	return codes
}

// with sends a request with that token.
func (v *visitor) with(t *testing.T, client *http.Client, token, path string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	return read(t, response)
}

// While the negative review of a bad token is cached, requests with it cause no further review.
func TestRepeatedBadTokenIsReviewedOnce(t *testing.T) {
	s := newSite(t)
	before, began := s.reviews(t, "token"), time.Now()
	codes := s.guess(t, func(int) string { return "guessed" })
	reviews := s.reviews(t, "token") - before
	if most := 1 + time.Since(began).Seconds()/10; reviews > most {
		t.Errorf("%v reviews, want %v at most", reviews, most)
	}
	if codes[http.StatusUnauthorized] != guesses {
		t.Errorf("the answers are %v", codes)
	}
}

// Random tokens from one address are limited. Valid tokens from another address, and tokens with a cached review, are
// still accepted.
func TestRandomTokensAreRateLimited(t *testing.T) {
	s := newSite(t)
	good := []string{s.token(t, "known"), s.token(t, "unknown")}
	v := s.visitor(t, &rest.Config{})
	if got := v.with(t, v.client, good[0], s.configMaps()); got.code != http.StatusForbidden { // it has no rights
		t.Fatalf("%d: %s", got.code, got.body)
	}
	before, began := s.reviews(t, "token"), time.Now()
	var codes map[int]int
	var guessing sync.WaitGroup
	guessing.Go(func() {
		codes = s.guess(t, func(i int) string { return fmt.Sprintf("guess-%d", i) })
	})
	elsewhere := v.newClient(t, net.IPv4(127, 0, 0, 2))
	if got := v.with(t, elsewhere, good[1], s.configMaps()); got.code != http.StatusForbidden {
		t.Errorf("from another address: %d: %s", got.code, got.body)
	}
	if got := v.with(t, v.client, good[0], s.configMaps()); got.code != http.StatusForbidden {
		t.Errorf("with a cached token: %d: %s", got.code, got.body)
	}
	guessing.Wait()
	reviews := s.reviews(t, "token") - before
	most := 5*guessRate + guessRate*time.Since(began).Seconds() + float64(len(good))
	if reviews > most {
		t.Errorf("%v reviews, want %v at most", reviews, most)
	}
	if codes[http.StatusUnauthorized]+codes[http.StatusTooManyRequests] != guesses || float64(codes[http.StatusUnauthorized]) > most {
		t.Errorf("the answers are %v", codes)
	}
}

// token returns the token of a service account without rights.
func (s *site) token(t *testing.T, account string) string {
	t.Helper()
	token := s.cluster.Token(t, s.Namespace, account, testkit.TokenOptions{})
	if strings.Count(token, ".") != 2 {
		t.Fatal("a token is no JWT")
	}
	return token
}
