package main

import (
	"context"
	"fmt"
)

// answerTries is the maximum number of comparisons. No client writes meanwhile, but a printed age may change between
// two responses: with 20,000 pods that are a few days old, one age changes every four seconds.
const answerTries = 10

// record fails unless both servers send the same responses to a load's question. It gives the facade's responses to the
// file server, as a set with the scenario's name, and returns their number.
func (s *stage) record(ctx context.Context, set string, l load) (int, error) {
	key := asked{l.shape, l.question}
	var difference error
	for range answerTries {
		got, err := s.facade.answers(ctx, l)
		if err != nil {
			return 0, err
		}
		if s.same[key] { // already compared for another scenario
			return len(got), s.hand(set, got)
		}
		want, err := s.direct.answers(ctx, l)
		if err != nil {
			return 0, err
		}
		if difference = differAll(want, got); difference == nil {
			s.same[key] = true
			return len(got), s.hand(set, got)
		}
	}
	return 0, &answerError{server: s.facade.name, question: l.question.String(), what: difference.Error()}
}

// asked is the key of compared responses, which depend only on these fields.
type asked struct {
	shape    shape
	question question
}

// hand writes responses into the file server's directory.
func (s *stage) hand(set string, answers []reading) error {
	for i, a := range answers {
		if err := s.files.answers.Put(set, i, a.header, a.body); err != nil {
			return err
		}
	}
	return nil
}

// answers returns all responses of a server to a load's question, as sent.
func (s *server) answers(ctx context.Context, l load) ([]reading, error) {
	callers, err := s.callers(ctx, 1, l.question.protocol)
	if err != nil {
		return nil, err
	}
	defer dismiss(callers)
	var all []reading
	_, err = l.ask(ctx, callers[0], func(r reading) error {
		all = append(all, r)
		return nil
	})
	return all, err
}

// differAll returns an error that describes how the responses of two servers differ, and nil if they are equal.
func differAll(want, got []reading) error {
	if len(want) != len(got) {
		return fmt.Errorf("got %d responses, want %d", len(got), len(want))
	}
	for i := range want {
		w, err := want[i].unpack()
		if err != nil {
			return err
		}
		g, err := got[i].unpack()
		if err != nil {
			return err
		}
		if err := differ(w, g); err != nil {
			return err
		}
	}
	return nil
}
