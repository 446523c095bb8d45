package main

import (
	"context"
	"fmt"
)

// answerTries is how often two answers may differ. Nothing is written meanwhile, but a printed age may tick between
// them: of 20,000 pods that are some days old one does every four seconds.
const answerTries = 10

// record fails unless both servers give the same answers to a load's question, to the byte, and hands the facade's to
// the file server, as a set with the scenario's name. It returns how many there are.
func (s *stage) record(ctx context.Context, set string, l load) (int, error) {
	key := asked{l.shape, l.question}
	var difference error
	for range answerTries {
		got, err := s.facade.answers(ctx, l)
		if err != nil {
			return 0, err
		}
		if s.same[key] { // another scenario has the same question
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

// asked is all that answers depend on.
type asked struct {
	shape    shape
	question question
}

// hand gives answers to the file server.
func (s *stage) hand(set string, answers []reading) error {
	for i, a := range answers {
		if err := s.files.answers.Put(set, i, a.header, a.body); err != nil {
			return err
		}
	}
	return nil
}

// answers are all that a server sends for a load's question asked once, as they are sent.
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

// differAll says how the answers of two servers differ; nil if in nothing that matters.
func differAll(want, got []reading) error {
	if len(want) != len(got) {
		return fmt.Errorf("%d answers, not %d", len(got), len(want))
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
