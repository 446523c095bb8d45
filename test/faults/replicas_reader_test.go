package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// reader sends reads continuously. Each requests the version that it has seen, or the most recent state. It stores the
// answers.
type reader struct {
	asker    *testkit.Asker
	random   *rand.Rand
	paths    []string // of lists and objects, with selectors
	last     uint64   // the highest version that it has seen
	readings []reading
	refused  int // answers 504
}

// reading is one answer.
type reading struct {
	question testkit.Question
	answer   *testkit.Answer
	floor    uint64 // the version that the answer must not be from before
}

// newReader returns a reader of several kinds of lists, and of single objects.
func newReader(r *replicas, seed uint64) *reader {
	lists, everywhere := suite.Collection(r.gvr, r.Namespace), suite.Collection(r.gvr, "")
	return &reader{
		asker: r.client, last: r.begin, random: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // to be repeatable
		paths: []string{
			lists + "?", lists + "?labelSelector=t%3Da&", everywhere + "?", everywhere + "?fieldSelector=metadata.name%3Do1&",
			lists + "/o1?", lists + "/o2?", lists + "/o3?", lists + "/mark?",
		},
	}
}

// read sends one question for any of the paths. Except for a 504, for a version that the server has not reached, every
// refusal is an error.
func (s *reader) read(ctx context.Context) error {
	q := testkit.Question{Path: s.paths[s.random.IntN(len(s.paths))]}
	if s.random.IntN(3) > 0 {
		q.Path += fmt.Sprintf("resourceVersion=%d&resourceVersionMatch=NotOlderThan", s.last)
	}
	floor := s.last
	answer, err := s.asker.Ask(ctx, q)
	if err != nil {
		return err
	}
	switch answer.Code {
	case http.StatusOK:
		s.last = max(s.last, slices.Max(versions(answer)))
	case http.StatusNotFound:
	case http.StatusGatewayTimeout:
		s.refused++
		return nil
	default:
		return fmt.Errorf("%s: %d %s", q, answer.Code, answer.Body)
	}
	s.readings = append(s.readings, reading{q, answer, floor})
	return nil
}

// readNothingOld checks all answers against the model.
func (s *reader) readNothingOld(t *testing.T, m *testkit.Model) {
	t.Helper()
	for _, one := range s.readings {
		if err := testkit.CheckRead(one.question, one.answer, one.floor, m); err != nil {
			t.Error(err)
		}
	}
}

// versions returns the resourceVersions of a list or object, its own first. A missing one is 0.
func versions(answer *testkit.Answer) []uint64 {
	type meta struct {
		Metadata struct{ ResourceVersion string }
	}
	var content struct {
		meta
		Items []meta
	}
	_ = json.Unmarshal(answer.Body, &content) // a missing version is 0
	found := make([]uint64, 0, len(content.Items)+1)
	for _, m := range append([]meta{content.meta}, content.Items...) {
		rv, _ := strconv.ParseUint(m.Metadata.ResourceVersion, 10, 64)
		found = append(found, rv)
	}
	return found
}
