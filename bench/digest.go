package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"time"
)

// keptPods is the maximum number of pods for which the benchmark keeps complete lists in memory. It compares larger
// lists as they arrive, and does not measure the file server with them.
const keptPods = 50_000

// digest summarizes a response that is too large to keep in memory.
type digest struct {
	header http.Header
	head   []byte // of the list, with ownValues masked
	items  uint64 // hash of everything after the head
	size   int64  // in bytes, after decompression
}

// digestHead is the maximum length of a list's head, in bytes.
const digestHead = 64 << 10

func (s *server) digest(ctx context.Context, q question, seed maphash.Seed) (d digest, err error) {
	response, err := s.open(ctx, q)
	if err != nil {
		return d, err
	}
	defer response.Body.Close()
	d.header = response.Header
	body := plain(response.Body, response.Header.Get("Content-Encoding"))
	begin := make([]byte, digestHead)
	n, err := io.ReadFull(body, begin)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return d, fmt.Errorf("%s: %s: %w", s.name, q, err)
	}
	var hash maphash.Hash
	hash.SetSeed(seed)
	head, items := cutHead(begin[:n])
	d.head = head
	_, _ = hash.Write(items) // a hash accepts everything
	rest, err := io.CopyBuffer(&hash, body, make([]byte, 1<<20))
	if err != nil {
		return d, fmt.Errorf("%s: %s: %w", s.name, q, err)
	}
	d.items, d.size = hash.Sum64(), int64(n)+rest
	return d, nil
}

// agree fails unless both servers send the same response to a question, byte for byte except for ownValues.
func (s *stage) agree(ctx context.Context, q question) error {
	if q.accept == protobufType {
		return fmt.Errorf("cannot compare protobuf lists of more than %d pods", keptPods)
	}
	seed := maphash.MakeSeed()
	var difference string
	for range answerTries {
		want, err := s.direct.digest(ctx, q, seed)
		if err != nil {
			return err
		}
		got, err := s.facade.digest(ctx, q, seed)
		if err != nil {
			return err
		}
		if difference = want.differs(got); difference == "" {
			return nil
		}
	}
	return &answerError{server: s.facade.name, question: q.String(), what: difference}
}

// differs describes how another response differs, and returns an empty string for an equal one.
func (d digest) differs(got digest) string {
	for _, name := range []string{"Content-Type", "Content-Encoding"} {
		if w, g := d.header.Get(name), got.header.Get(name); w != g {
			return fmt.Sprintf("%s is %q, not %q", name, g, w)
		}
	}
	switch {
	case !bytes.Equal(d.head, got.head):
		return fmt.Sprintf("the list is %q, not %q", got.head, d.head)
	case d.items != got.items:
		return fmt.Sprintf("the items differ: %d bytes, not %d", got.size, d.size)
	}
	return ""
}

// idleFor is the duration of the measurement of kube-apiserver without requests.
const idleFor = 5 * time.Second

// idles returns the average number of processors that kube-apiserver uses without requests.
func (s *stage) idles(ctx context.Context) (float64, error) {
	before, err := s.direct.process.CPU()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	select {
	case <-time.After(idleFor):
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	after, err := s.direct.process.CPU()
	return float64(after-before) / float64(time.Since(began)), err
}
