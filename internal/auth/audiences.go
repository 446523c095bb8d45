package auth

import (
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// confirmEvery is the interval at which one token of an audience is reviewed although the facade can verify it.
	confirmEvery = 10 * time.Second
	// audienceFor is how long the facade accepts tokens of an audience after the last confirmation of the audience.
	audienceFor = time.Minute
	// maxAudiences bounds the remembered audiences. kube-apiserver has a few.
	maxAudiences = 64
)

// audiences are the upstream's API audiences, which no API of the upstream returns. An accepted TokenReview shows which
// audiences of its token are API audiences. Safe for concurrent use.
type audiences struct {
	mu      sync.Mutex
	learned map[string]*audience
	reviews map[string]chan struct{} // by the audiences of the token under review
}

type audience struct {
	confirmed time.Time
	asked     time.Time // when it was last confirmed, or due last returned true for it
}

func newAudiences() *audiences {
	return &audiences{learned: map[string]*audience{}, reviews: map[string]chan struct{}{}}
}

// learn records a token's audiences that the answer to its review contains, and forgets the token's other audiences.
func (a *audiences) learn(of, reviewed []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for _, name := range of {
		if !slices.Contains(reviewed, name) {
			delete(a.learned, name)
			continue
		}
		if a.learned[name] != nil || len(a.learned) < maxAudiences {
			a.learned[name] = &audience{confirmed: now, asked: now}
		}
	}
}

func (a *audiences) forget(of []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range of {
		delete(a.learned, name)
	}
}

func (a *audiences) accept(of []string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range of {
		if one := a.learned[name]; one != nil {
			if time.Since(one.confirmed) < audienceFor {
				return true
			}
			delete(a.learned, name)
		}
	}
	return false
}

// due reports whether the current request must send a token of these audiences to TokenReview, to confirm one of them.
// It returns true once per confirmEvery and audience.
func (a *audiences) due(of []string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, due := time.Now(), false
	for _, name := range of {
		if one := a.learned[name]; one != nil && now.Sub(one.asked) >= confirmEvery {
			one.asked, due = now, true
		}
	}
	return due
}

// beginReview must be called before a review that may show audiences. While another review for the same audiences is
// under way, it returns a channel that is closed when the other review ends. Otherwise it returns a function that the
// caller must call after its own review.
func (a *audiences) beginReview(of []string) (other <-chan struct{}, end func()) {
	key := strings.Join(of, "\x00")
	a.mu.Lock()
	defer a.mu.Unlock()
	if under := a.reviews[key]; under != nil {
		return under, nil
	}
	own := make(chan struct{})
	a.reviews[key] = own
	return nil, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.reviews, key)
		close(own)
	}
}
