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

// subscriptionsWithin is the timeout for events after the last change.
const subscriptionsWithin = 60 * time.Second

// subscriptions collects the delays of events of many watches. Safe for concurrent use.
type subscriptions struct {
	mu       sync.Mutex // guards the rest
	received map[int64][]time.Duration
	count    int
}

func newSubscriptions() *subscriptions { return &subscriptions{received: map[int64][]time.Duration{}} }

// read reads one watch to its end. The stamp of an event is within the first bytes of its frame.
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

// stampOf returns the time at which a client sent the change of an event, in nanoseconds since 1970; 0 for a bookmark.
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

// await waits until n events were received. It fails if there are more.
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
			return fmt.Errorf("got %d events, want %d", count, n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d events arrived: %w", count, n, context.Cause(ctx))
		}
	}
}

// last returns for each change the delay of the last watch that received it.
func (s *subscriptions) last() []time.Duration {
	var all []time.Duration
	for _, delays := range s.received {
		all = append(all, slices.Max(delays))
	}
	return all
}
