package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// read is an answer to a LIST or GET, with the last write before the request if the answer must contain it.
type read struct {
	question testkit.Question
	answer   *testkit.Answer
	floor    written
	world    int
}

// ofWorld separates the reads of a world from others.
func ofWorld(all []read, world int) (of, others []read) {
	for _, r := range all {
		if r.world == world {
			of = append(of, r)
		} else {
			others = append(others, r)
		}
	}
	return of, others
}

// check checks a read against the model.
func (r *read) check(k *kind, truth *truth, model *testkit.Model) error {
	floor := r.floor.rv
	if r.floor.deleted {
		floor = max(floor, truth.deletion(k, r.floor.version))
	}
	return testkit.CheckRead(r.question, r.answer, floor, model)
}

// reader reads recent writes by consistent reads.
type reader struct {
	soak   *soak
	kind   *kind
	number int
	random *rand.Rand

	mu    sync.Mutex // guards the fields below
	reads []read
}

func (r *reader) String() string {
	return fmt.Sprintf("reader %d of %s", r.number, r.kind.GVR.Resource)
}

// run reads after each write until the context ends.
func (r *reader) run(ctx context.Context) {
	for ctx.Err() == nil {
		_, _, changed := r.soak.writers[r.kind].acknowledged()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		r.read(ctx)
	}
}

func (r *reader) read(ctx context.Context) {
	r.soak.reading.RLock()
	defer r.soak.reading.RUnlock()
	floor, _, _ := r.soak.writers[r.kind].acknowledged()
	paths := []string{
		r.kind.collection("timeout=30s"),
		r.kind.collection("timeout=30s", "t=a"),
		r.kind.object(r.kind.name(r.random.IntN(objects))) + "?timeout=30s",
	}
	q := testkit.Question{Path: paths[r.random.IntN(len(paths))]}
	answer, world, ok := r.soak.ask(ctx, r.String(), q)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = append(r.reads, read{question: q, answer: answer, floor: floor, world: world})
}

func (r *reader) collect() []read {
	r.mu.Lock()
	defer r.mu.Unlock()
	reads := r.reads
	r.reads = nil
	return reads
}

// ask sends a question to the facade, and checks a failure. It returns the world at the time of the request.
func (s *soak) ask(ctx context.Context, who string, q testkit.Question) (*testkit.Answer, int, bool) {
	phase, world := s.phase.Load(), int(s.world.Load())
	ctx, cancel := context.WithTimeout(ctx, suite.Patience)
	defer cancel()
	answer, err := s.asker.Ask(ctx, q)
	if err != nil {
		s.failed(ctx, phase, "%s: %s: %v", who, q, err)
		return nil, world, false
	}
	if answer.Code == http.StatusOK && s.spoiledBy(phase, answer.Body) {
		return nil, world, false
	}
	if answer.Code == http.StatusOK || answer.Code == http.StatusNotFound && named(q) {
		return answer, world, true
	}
	s.answered(phase, answer.Code, fmt.Sprintf("%s: %s: %s", who, q, answer.Body))
	return nil, world, false
}
