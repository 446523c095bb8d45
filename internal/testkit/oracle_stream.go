package testkit

import (
	"bytes"
	"context"
	"errors"
	"math"

	"golang.org/x/sync/errgroup"
)

// Watches tells whether a question, if nothing is wrong with it, is answered with a stream.
func (q Question) Watches() bool {
	info, _ := q.info()
	return info != nil && info.Verb == "watch"
}

// streamTries is how often two streams may differ because the cluster moved while they were open, or because kube-apiserver leaves
// it to chance: a watch whose time is over before it has something to tell may or may not tell it (semantics 4.2).
const streamTries = 20

// StreamDifference asks both at once for a watch that ends by itself, and returns the difference of what they told. Bookmarks
// that a timer sends are left out.
func (o *Oracle) StreamDifference(ctx context.Context, q Question) (diff string, err error) {
	for range streamTries {
		var want *Recording
		both, asking := errgroup.WithContext(ctx)
		both.Go(func() (err error) {
			want, err = o.Upstream.stream(asking, q)
			return err
		})
		got, err := o.Facade.stream(asking, q)
		if err = errors.Join(err, both.Wait()); err != nil {
			return "", err
		}
		if diff = DiffRecordings(want.Through(math.MaxUint64), got.Through(math.MaxUint64)); diff == "" {
			return "", nil
		}
	}
	return diff, nil
}

// stream asks for a watch that ends by itself.
func (a *Asker) stream(ctx context.Context, q Question) (*Recording, error) {
	answer, err := a.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	r := &Recording{Question: q, Code: answer.Code, Header: answer.Header}
	for line := range bytes.SplitSeq(answer.Body, []byte("\n")) {
		r.Frames = append(r.Frames, Frame{Line: line})
	}
	return r, nil
}
