package accounting

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// stream contains the exact weights of keys by digest, and their total.
type stream struct {
	minutes []summary
	exact   map[uint64]int64
	total   int64
}

// fill counts random weights in summaries of several minutes. A few keys have most of the weight.
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

// check compares the summaries and their sum with the exact weights.
func (s *stream) check(t *testing.T) {
	t.Helper()
	m := mergedOf(s.minutes)
	if m.total != s.total {
		t.Errorf("got total %d, want %d", m.total, s.total)
	}
	for digest, exact := range s.exact {
		client := m.clients[digest]
		switch {
		case client == nil && exact > m.unlisted:
			t.Errorf("%d cost %d and is not listed, want at most %d", digest, exact, m.unlisted)
		case client != nil && (client.estimate < exact || client.estimate-client.err > exact):
			t.Errorf("%d cost %d, got %d to %d", digest, exact, client.estimate-client.err, client.estimate)
		}
	}
	if len(m.clients) > mostKeys*len(s.minutes) {
		t.Errorf("got %d keys", len(m.clients))
	}
	for i := range s.minutes {
		minute := &s.minutes[i]
		if len(minute.counts) > mostKeys || len(minute.at) != len(minute.counts) || len(minute.rest) != len(minute.counts) {
			t.Errorf("got %d keys in a minute", len(minute.counts))
		}
		if len(minute.counts) == mostKeys && minute.unlisted() > minute.total/mostKeys {
			t.Errorf("got smallest count %d in a minute with total %d", minute.unlisted(), minute.total)
		}
	}
}

// TestGuarantee: estimate - error <= exact <= estimate for random keys and weights.
func TestGuarantee(t *testing.T) {
	for seed := range uint64(settings.Amount(8, 30)) {
		random := rand.New(rand.NewPCG(seed, 1))
		fill(random, 1+random.IntN(4), 20_000, 1+random.IntN(5000), 1+random.Int64N(1<<30)).check(t)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzGuarantee: the same for streams from a fuzzer. Each byte is a key, and its weight depends on its position.
func FuzzGuarantee(f *testing.F) {
	f.Add([]byte("abcabcaaaa"), uint16(3), uint8(2))
	f.Fuzz(func(t *testing.T, keys []byte, spread uint16, minutes uint8) {
		s := &stream{minutes: make([]summary, 1+minutes%5), exact: map[uint64]int64{}}
		for i, key := range keys {
			digest := uint64(key) + uint64(i)*uint64(spread)%7*256 // more keys than slots
			s.add(i*len(s.minutes)/len(keys), digest, 1+int64(i)*int64(spread))
		}
		s.check(t)
	})
}

// A key with more than 1/256 of the total is listed, however many other keys there are.
func TestHeavyIsListed(t *testing.T) {
	var s summary
	all := settings.Amount(25_000, 100_000)
	for i := range uint64(all) {
		if digest := i + 1; !s.hit(digest, 1) {
			s.admit(digest, &Key{}, 1)
		}
		if i%200 == 0 && !s.hit(0, 1) {
			s.admit(0, &Key{}, 1)
		}
	}
	at, ok := s.at[0]
	if !ok || s.counts[at]-s.rest[at].err > int64(all/200) || s.counts[at] < int64(all/200) {
		t.Errorf("got listed %t with %d", ok, s.counts[at])
	}
}

// event returns a request with a response of the given size.
func event(user, agent string, bytes int64) *observe.Event {
	return &observe.Event{
		User: user, UserAgent: agent, Verb: "list", Version: "v1", Resource: "pods", Scope: "cluster", Discovered: true,
		Source: observe.FromCache, Plan: "Any", Bytes: bytes, Began: time.Now(), Took: time.Millisecond,
	}
}
