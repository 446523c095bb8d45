package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"
)

// subscriptionsWithin is how long after the last change every event must have arrived.
const subscriptionsWithin = 60 * time.Second

// ears are the readers of many watches. Safe for concurrent use.
type subscriptions struct {
	mu       sync.Mutex // guards the rest
	received map[int64][]time.Duration
	count    int
}

func newSubscriptions() *subscriptions { return &subscriptions{received: map[int64][]time.Duration{}} }

// hear reads one watch to its end. What an event says of when it was sent stands within the first bytes of a frame.
func (s *subscriptions) read(body io.Reader) error {
	lines := bufio.NewReaderSize(body, 4<<10)
	var stamp int64
	for begins := true; ; {
		chunk, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if begins {
			if stamp, err = stampOf(chunk); err != nil {
				return err
			}
		}
		if begins = chunk[len(chunk)-1] == '\n'; begins && stamp != 0 {
			s.note(stamp, time.Now())
		}
	}
}

// stampOf is when an event was sent, in nanoseconds; 0 for a bookmark.
func stampOf(frame []byte) (int64, error) {
	_, rest, ok := bytes.Cut(frame, []byte(stampBefore))
	if !ok {
		if bytes.HasPrefix(frame, []byte(`{"type":"BOOKMARK"`)) {
			return 0, nil
		}
		return 0, fmt.Errorf("unexpected event %.200q", frame)
	}
	digits, _, _ := bytes.Cut(rest, []byte(`"`))
	return strconv.ParseInt(string(digits), 10, 64)
}

func (s *subscriptions) note(stamp int64, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received[stamp] = append(s.received[stamp], at.Sub(time.Unix(0, stamp)))
	s.count++
}

// await waits until so many events were heard.
func (s *subscriptions) await(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, subscriptionsWithin)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		s.mu.Lock()
		count := s.count
		s.mu.Unlock()
		switch {
		case count == n:
			return nil
		case count > n:
			return fmt.Errorf("%d events arrived, not %d", count, n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d events arrived: %w", count, n, context.Cause(ctx))
		}
	}
}

// last is how long each change took until the last heard of it.
func (s *subscriptions) last() []time.Duration {
	var all []time.Duration
	for _, delays := range s.received {
		all = append(all, slices.Max(delays))
	}
	return all
}
