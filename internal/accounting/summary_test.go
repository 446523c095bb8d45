package accounting

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
)

// stream is weights of keys by digest, and what they are in all.
type stream struct {
	minutes []summary
	exact   map[uint64]int64
	total   int64
}

// fill counts so many weights, of keys of which few have most, in summaries of so many minutes.
func fill(random *rand.Rand, minutes, count, keys int, heaviest int64) *stream {
	s := &stream{minutes: make([]summary, minutes), exact: map[uint64]int64{}}
	zipf := rand.NewZipf(random, 1.1, 1, uint64(keys))
	for range count {
		s.add(random.IntN(minutes), zipf.Uint64(), random.Int64N(heaviest)+1)
	}
	return s
}

func (s *stream) add(minute int, digest uint64, weight int64) {
	s.exact[digest] += weight
	s.total += weight
	if m := &s.minutes[minute]; !m.hit(digest, weight) {
		m.admit(digest, &Key{}, weight)
	}
}

// check holds summaries, and what is merged of them, to their promise.
func (s *stream) check(t *testing.T) {
	t.Helper()
	m := mergedOf(s.minutes)
	if m.total != s.total {
		t.Errorf("the total is %d, not %d", m.total, s.total)
	}
	for digest, exact := range s.exact {
		client := m.clients[digest]
		switch {
		case client == nil && exact > m.unlisted:
			t.Errorf("%d took %d and is not listed, although more than %d", digest, exact, m.unlisted)
		case client != nil && (client.estimate < exact || client.estimate-client.err > exact):
			t.Errorf("%d took %d, not %d to %d", digest, exact, client.estimate-client.err, client.estimate)
		}
	}
	if len(m.clients) > mostKeys*len(s.minutes) {
		t.Errorf("%d keys", len(m.clients))
	}
	for i := range s.minutes {
		minute := &s.minutes[i]
		if len(minute.counts) > mostKeys || len(minute.at) != len(minute.counts) || len(minute.rest) != len(minute.counts) {
			t.Errorf("%d keys in a minute", len(minute.counts))
		}
		if len(minute.counts) == mostKeys && minute.unlisted() > minute.total/mostKeys {
			t.Errorf("the smallest of a minute with %d is %d", minute.total, minute.unlisted())
		}
	}
}

// TestGuarantee: estimate - error <= exact <= estimate, whatever the keys and weights.
func TestGuarantee(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		fill(random, 1+random.IntN(4), 20_000, 1+random.IntN(5000), 1+random.Int64N(1<<30)).check(t)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzGuarantee: the same for streams that a fuzzer makes: each byte is a key, and its weight depends on its place.
func FuzzGuarantee(f *testing.F) {
	f.Add([]byte("abcabcaaaa"), uint16(3), uint8(2))
	f.Fuzz(func(t *testing.T, keys []byte, spread uint16, minutes uint8) {
		s := &stream{minutes: make([]summary, 1+minutes%5), exact: map[uint64]int64{}}
		for i, key := range keys {
			digest := uint64(key) + uint64(i)*uint64(spread)%7*256 // more than have places
			s.add(i*len(s.minutes)/len(keys), digest, 1+int64(i)*int64(spread))
		}
		s.check(t)
	})
}

// Who takes more than 1/256 of all is listed, however many others come and go.
func TestHeavyIsListed(t *testing.T) {
	var s summary
	for i := range uint64(100_000) {
		if digest := i + 1; !s.hit(digest, 1) {
			s.admit(digest, &Key{}, 1)
		}
		if i%200 == 0 && !s.hit(0, 1) {
			s.admit(0, &Key{}, 1)
		}
	}
	at, ok := s.at[0]
	if !ok || s.counts[at]-s.rest[at].err > 500 || s.counts[at] < 500 {
		t.Errorf("listed %t: %d", ok, s.counts[at])
	}
}

// event is a request that took so many bytes.
func event(user, agent string, bytes int64) *observe.Event {
	return &observe.Event{
		User: user, UserAgent: agent, Verb: "list", Version: "v1", Resource: "pods", Scope: "cluster", Discovered: true,
		Source: observe.FromCache, Plan: "Any", Bytes: bytes, Began: time.Now(), Took: time.Millisecond,
	}
}
