package replay

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// sample is what kube-apiserver answered at one resourceVersion, by path.
type sample struct {
	rv     uint64
	bodies map[string]string
}

// paths are the lists that are compared.
func paths(namespace string) (all []string) {
	for _, k := range kinds {
		all = append(all, suite.Collection(k.GroupVersionResource, ""),
			suite.Collection(k.GroupVersionResource, namespace)+"?labelSelector=round%3D1")
	}
	return all
}

// exactly returns the request for a list at exactly a resourceVersion.
func exactly(path string, rv uint64) testkit.Question {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	return testkit.Question{Path: path + separator + "resourceVersionMatch=Exact&resourceVersion=" + number(rv)}
}

// take asks kube-apiserver.
func take(t *testing.T, s *suite.Fixture, rv uint64) sample {
	t.Helper()
	taken := sample{rv: rv, bodies: map[string]string{}}
	for _, path := range paths(s.Namespace) {
		answer := s.Upstream.MustAsk(t, exactly(path, rv))
		if answer.Code != 200 {
			t.Fatalf("%s at %d: got %d %s", path, rv, answer.Code, answer.Body)
		}
		taken.bodies[path] = string(answer.Body)
	}
	return taken
}

// workload writes objects of all kinds at random.
type workload struct {
	*rand.Rand
	s     *suite.Fixture
	there map[string]bool
}

// write creates, changes or deletes an object, and returns a resourceVersion of the change, or 0.
func (w *workload) write(t *testing.T) uint64 {
	t.Helper()
	k, name := &kinds[w.IntN(len(kinds))], fmt.Sprintf("object-%d", w.IntN(5))
	key := k.Resource + "/" + name
	switch {
	case !w.there[key]:
		w.there[key] = true
		return k.put(t, w.s, name)
	case w.IntN(3) == 0:
		w.there[key] = false
		w.s.Remove(t, k.GroupVersionResource, name)
		return 0
	}
	return w.s.Patch(t, k.GroupVersionResource, name, fmt.Sprintf(`{"metadata":{"labels":{"round":"%d"},"annotations":{"n":"%d"}}}`, w.IntN(2), w.Int()))
}

// Exact lists of kube-apiserver, taken while objects change and the facade is restarted, equal those of a replay at the
// same resourceVersions, byte for byte.
func TestReplayEqualsExactLists(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	dir := filepath.Join(t.TempDir(), "journal")
	w := &workload{Rand: settings.Random(t), s: s, there: map[string]bool{}}
	for range 20 {
		w.write(t)
	}
	end := record(t, s, dir)
	awaitJournal(t, dir)
	var samples []sample
	wanted := settings.Amount(50, 1000)
	for len(samples) < wanted {
		rv := w.write(t)
		for range w.IntN(5) {
			w.write(t) // the sampled version is not the newest
		}
		if rv > 0 {
			samples = append(samples, take(t, s, rv))
		}
		if len(samples) == wanted/2 && rv > 0 {
			end()
			for range 5 {
				w.write(t)
			}
			end = record(t, s, dir)
		}
	}
	end()
	for i, taken := range samples {
		compare(t, dir, taken)
		if i > 0 {
			compareDiff(t, dir, samples[i-1], taken)
		}
	}
	compareDiff(t, dir, samples[0], samples[len(samples)-1])
}

// compare asks a replay what kube-apiserver was asked, with and without the resourceVersion.
func compare(t *testing.T, dir string, taken sample) {
	t.Helper()
	config, stop := serve(t, dir, number(taken.rv))
	defer stop()
	asker, err := testkit.NewAsker(config)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range taken.bodies {
		for _, q := range []testkit.Question{{Path: path}, exactly(path, taken.rv)} {
			answer := asker.MustAsk(t, q)
			if string(answer.Body) != want {
				t.Errorf("%s at %d: got %d\n%s\nwant\n%s", q.Path, taken.rv, answer.Code, answer.Body, want)
			}
			if warning := answer.Header.Get("Warning"); warning != "" {
				t.Errorf("%s at %d: got warning %s", q.Path, taken.rv, warning)
			}
		}
	}
}
