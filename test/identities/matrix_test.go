package identities

import (
	"bufio"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// questions returns the questions of testdata/questions.txt.
func questions(t *testing.T) []testkit.Question {
	t.Helper()
	file, err := os.Open("testdata/questions.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []testkit.Question
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if line := lines.Text(); !strings.HasPrefix(line, "#") {
			q, err := testkit.ParseQuestion(line)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, q)
		}
	}
	return all
}

// TestMatrix sends every question as every caller: with GET, or as a watch, and with HEAD. The effect of HEAD does not
// depend on the caller, so a short run sends each HEAD request as one of the callers only.
func TestMatrix(t *testing.T) {
	w := newWorld(t)
	f := suite.StartDelegating(t, w.Cluster)
	for caller, name := range slices.Sorted(maps.Keys(w.identities)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			who, o := w.identities[name], w.as(t, f, name)
			upstream, facade := watches(o.Upstream), watches(o.Facade)
			all := questions(t)
			var open sync.WaitGroup
			for _, q := range all {
				if q.Watches() {
					open.Go(func() { stream(t, o, q) })
				}
			}
			for i, q := range all {
				if q.Watches() {
					continue
				}
				o.Compare(t, q)
				if turn := (caller+i)%12 == 0; !q.IsCrooked() && (turn || !testing.Short()) {
					q.Method = http.MethodHead
					o.Compare(t, q)
				}
			}
			open.Wait()
			upstream.saw(t, "kube-apiserver", who.sees)
			if who.nameless {
				facade.saw(t, "the facade", withoutSecrets(who.sees))
			} else {
				facade.saw(t, "the facade", who.sees)
			}
		})
	}
}

// TestWrites checks that no writing method reaches the upstream. Authenticated callers receive 405. Callers with
// invalid credentials receive 401.
func TestWrites(t *testing.T) {
	w := newWorld(t)
	f := suite.StartDelegating(t, w.Cluster)
	forwarded := w.as(t, f, "monitor").Answered(t, "upstream")
	for _, name := range slices.Sorted(maps.Keys(w.identities)) {
		who, asker := w.identities[name], w.as(t, f, name).Facade
		code, body := http.StatusMethodNotAllowed, noSuchMethod
		if who.unproven {
			code, body = http.StatusUnauthorized, unauthorized
		}
		for i, q := range questions(t) {
			// A malformed timeout is refused before authentication. Health endpoints need no
			// authentication.
			if strings.Contains(q.Path, "timeout=abc") || strings.Contains(q.Path, "pretty=1") || isHealth(q) {
				continue
			}
			q.Header = nil
			methods := writes
			if testing.Short() {
				methods = writes[i%len(writes):][:1] // each method with some of the questions
			}
			for _, method := range methods {
				q.Method = method
				if answer := asker.MustAsk(t, q); answer.Code != code || string(answer.Body) != body {
					t.Errorf("%s: %s: %d %s", name, q, answer.Code, head(answer.Body))
				}
			}
		}
	}
	if n := w.as(t, f, "monitor").Answered(t, "upstream") - forwarded; n != 0 {
		t.Errorf("%d writes reached the upstream", n)
	}
}

func isHealth(q testkit.Question) bool {
	return slices.ContainsFunc([]string{"/healthz", "/livez", "/readyz"}, func(path string) bool { return strings.HasPrefix(q.Path, path) })
}
