package testkit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
)

// Watches reports whether the answer to a question is a stream, if the question is valid.
func (q Question) Watches() bool {
	info, _ := q.info()
	return info != nil && info.Verb == "watch"
}

const (
	// streamTries is how often two streams may differ while kube-apiserver's stream does not change. A stream may be
	// late.
	streamTries = 5
	// chanceTries is how often two streams may differ if kube-apiserver's answer is random, or changes because the
	// cluster changes.
	chanceTries = 20
)

// StreamDifference opens a watch with a timeout on both servers at the same time, and returns the difference of their
// streams. It ignores periodic bookmarks.
func (o *Oracle) StreamDifference(ctx context.Context, q Question) (diff string, err error) {
	var before *Recording
	for try, settled := 1, 1; ; try++ {
		var want *Recording
		var wantErr error
		var asking sync.WaitGroup
		asking.Go(func() { want, wantErr = o.Upstream.stream(ctx, q) })
		got, gotErr := o.Facade.stream(ctx, q)
		asking.Wait()
		if brokeOff(wantErr) && brokeOff(gotErr) {
			return "", nil // as with "watch=maybe": kube-apiserver handles it as a watch, with the time limit of a list
		}
		if err := errors.Join(wantErr, gotErr); err != nil {
			return "", err
		}
		told := want.Through(math.MaxUint64)
		diff = DiffRecordings(told, got.Through(math.MaxUint64))
		if diff != "" && o.Excused != nil && o.Excused(q, want.answer(), got.answer()) {
			diff = ""
		}
		if before != nil && DiffRecordings(before, told) == "" {
			settled++
		}
		before = told
		if diff == "" || try >= chanceTries || settled >= streamTries && !leftToChance(want, got) {
			return diff, nil
		}
	}
}

// brokeOff reports whether a server closed the connection without an answer. A connection that ends within an answer
// remains an error, because the partial answer is not compared.
func brokeOff(err error) bool { return errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) }

// leftToChance reports whether a watch timed out while it waited for its version. kube-apiserver then may or may not
// send the error that the version is too large (semantics 4.2). The facade always sends it.
func leftToChance(want, got *Recording) bool {
	return want.Code == got.Code && len(want.answer().Body) == 0 &&
		bytes.Contains(got.answer().Body, []byte("ResourceVersionTooLarge"))
}

func (r *Recording) answer() *Answer {
	a := &Answer{Code: r.Code, Header: r.Header}
	for _, frame := range r.Frames {
		a.Body = append(a.Body, frame.Line...)
	}
	return a
}

// stream records a watch with a timeout until its end.
func (a *Asker) stream(ctx context.Context, q Question) (*Recording, error) {
	answer, err := a.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	r := &Recording{Question: q, Code: answer.Code, Header: answer.Header}
	if inProtobuf := strings.HasPrefix(answer.Header.Get("Content-Type"), mediaTypeProtobuf); inProtobuf {
		return r, r.cut(answer.Body)
	}
	for line := range bytes.SplitSeq(answer.Body, []byte("\n")) {
		r.Frames = append(r.Frames, Frame{Line: line})
	}
	return r, nil
}

func (r *Recording) cut(body []byte) error {
	from, cut := bufio.NewReader(bytes.NewReader(body)), cutterFor(r.Header)
	for {
		frame, err := cut(from)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", r.Question, err)
		}
		r.Frames = append(r.Frames, Frame{Line: frame})
	}
}
