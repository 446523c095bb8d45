package auditlog

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync"
)

// Counts are the numbers of lines that were read, with the errors.
type Counts struct {
	Lines   int `json:"lines"`
	Broken  int `json:"brokenLines"`  // not an audit event
	TooLong int `json:"tooLongLines"` // longer than 4 MiB, and left out
	// FirstBroken is the place of the first broken line, with the reason; empty if no line is broken.
	FirstBroken string `json:"firstBroken,omitempty"`
	// CutOff are the files that could be read only in part, with the reason.
	CutOff []string `json:"cutOff,omitempty"`
}

type batch struct {
	block
	place  int // number of the block in the log
	events []Event
	count  int    // number of lines
	broken int    // number of broken lines
	reason string // place of the first broken line, and the reason
}

// Each passes the events of all files to a function, several at a time and in any order. Only one goroutine calls the
// function. The events are valid until the function returns. Each returns an error if a file cannot be opened, or if
// the context ends.
func (f *Files) Each(ctx context.Context, events func([]Event)) (Counts, error) {
	workers := runtime.GOMAXPROCS(0)
	batches := 2*workers + 1
	free, work, done := make(chan *batch, batches), make(chan *batch, batches), make(chan *batch, batches)
	for range batches {
		free <- new(batch)
	}
	var counts, cut Counts
	var failed error
	var running sync.WaitGroup
	running.Go(func() {
		defer close(work)
		cut, failed = f.cut(ctx, free, work)
	})
	for range workers {
		running.Go(func() {
			for b := range work {
				b.parse()
				done <- b
			}
		})
	}
	go func() { running.Wait(); close(done) }()
	firstPlace := -1
	for b := range done {
		events(b.events)
		counts.Lines, counts.Broken = counts.Lines+b.count, counts.Broken+b.broken
		if b.broken > 0 && (firstPlace < 0 || b.place < firstPlace) {
			counts.FirstBroken, firstPlace = b.reason, b.place
		}
		free <- b
	}
	counts.TooLong, counts.CutOff = cut.TooLong, cut.CutOff
	counts.Lines += cut.TooLong
	if failed == nil {
		failed = ctx.Err()
	}
	return counts, failed
}

func (f *Files) cut(ctx context.Context, free chan *batch, work chan<- *batch) (Counts, error) {
	var counts Counts
	place := 0
	for _, file := range f.all {
		content, closing, err := f.open(file.name)
		if err != nil {
			return counts, err
		}
		c := &cutter{content: content, file: file.name, line: 1}
		for ctx.Err() == nil {
			b := <-free
			b.place = place
			if err := c.next(&b.block); err != nil {
				free <- b
				break // the file has ended, or cannot be read further
			}
			place++
			work <- b
		}
		closing()
		counts.TooLong += c.tooLong
		if err := c.broke(); err != nil {
			counts.CutOff = append(counts.CutOff, fmt.Sprintf("%s: %v", file.name, err))
		}
	}
	return counts, nil
}

// parse reads the lines of the block. Empty lines do not count.
func (b *batch) parse() {
	b.events, b.count, b.broken, b.reason = b.events[:0], 0, 0, ""
	number := b.first - 1
	for line := range bytes.Lines(b.lines) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		b.count++
		b.events = append(b.events, Event{})
		e := &b.events[len(b.events)-1]
		err := e.parse(line)
		if err != nil {
			if b.broken++; b.broken == 1 {
				b.reason = fmt.Sprintf("%s, line %d: %v", b.file, number, err)
			}
		}
		if err != nil || e.Stage == Other {
			b.events = b.events[:len(b.events)-1]
		}
	}
}
