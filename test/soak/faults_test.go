package soak

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
)

// fault is a fault behind the facade.
type fault struct {
	phase
	do func(t *testing.T, s *soak, lasts time.Duration, draw *rand.Rand)
}

// faults returns all faults.
func faults() []fault {
	return []fault{
		{phase{name: "kube-apiserver killed", codes: away, relists: true}, killed},
		{phase{name: "kube-apiserver paused", codes: away}, paused},
		{phase{name: "401", codes: append([]int{http.StatusUnauthorized}, away...)}, answering(http.StatusUnauthorized)},
		{phase{name: "403", codes: append([]int{http.StatusForbidden}, away...)}, answering(http.StatusForbidden)},
		{phase{name: "429", codes: away}, answering(http.StatusTooManyRequests)},
		{phase{name: "500", codes: away}, answering(http.StatusInternalServerError)},
		{phase{name: "garbage", codes: away, garbage: true}, spoilt},
		{phase{name: "connections cut", codes: away}, cut},
		{phase{name: "nothing gets through", codes: away}, blocked},
		{phase{name: "restart as another version", codes: away, relists: true, closes: true}, replaced},
		{phase{name: "etcd compacted", codes: away, relists: true}, compacted},
		{phase{name: "etcd killed", codes: away, relists: true}, storeKilled},
		{phase{name: "etcd restored from a backup", codes: away, relists: true, closes: true}, restored},
	}
}

// do sends commands to a process of the cluster.
func (s *soak) do(t *testing.T, process string, commands ...string) {
	t.Helper()
	for _, command := range commands {
		if err := s.cluster.Do(t.Context(), process, command); err != nil {
			t.Fatal(err)
		}
	}
}

// last waits while a fault lasts.
func last(lasts time.Duration) { <-time.After(lasts) }

func killed(t *testing.T, s *soak, lasts time.Duration, _ *rand.Rand) {
	s.do(t, "kube-apiserver", "kill")
	last(lasts)
	s.do(t, "kube-apiserver", "start")
}

func paused(t *testing.T, s *soak, lasts time.Duration, _ *rand.Rand) {
	s.do(t, "kube-apiserver", "pause")
	last(lasts)
	s.do(t, "kube-apiserver", "continue")
}

// answering returns a fault in which all requests to kube-apiserver receive a code. In most cases open connections are
// cut, too.
func answering(code int) func(*testing.T, *soak, time.Duration, *rand.Rand) {
	return func(_ *testing.T, s *soak, lasts time.Duration, draw *rand.Rand) {
		s.road.answer(refusal(code))
		if draw.IntN(4) > 0 {
			s.log("connections are cut, too")
			s.road.cut()
		}
		last(lasts)
		s.road.repair()
	}
}

func refusal(code int) http.HandlerFunc {
	refuse := testkit.Refuse(code, reasons[code])
	return func(w http.ResponseWriter, r *http.Request) {
		if code == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		refuse(w, r)
	}
}

// reasons are the reasons in a Status, by code.
var reasons = map[int]string{
	http.StatusUnauthorized: "Unauthorized", http.StatusForbidden: "Forbidden", http.StatusTooManyRequests: "TooManyRequests",
	http.StatusInternalServerError: "InternalError",
}

func spoilt(_ *testing.T, s *soak, lasts time.Duration, draw *rand.Rand) {
	with := garbage[draw.IntN(len(garbage))]
	s.log("garbage is %q", with)
	s.road.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, with)
	})
	s.road.spoil([]byte(with))
	if draw.IntN(2) > 0 {
		s.log("connections are cut, too")
		s.road.cut()
	}
	last(lasts)
	s.road.repair()
}

func cut(_ *testing.T, s *soak, lasts time.Duration, draw *rand.Rand) {
	if draw.IntN(2) > 0 {
		s.log("new requests are aborted, too")
		s.road.answer(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	}
	s.road.cut()
	last(lasts)
	s.road.repair()
}

func blocked(_ *testing.T, s *soak, lasts time.Duration, _ *rand.Rand) {
	s.road.block()
	last(lasts)
	s.road.repair()
}

// replaced restarts kube-apiserver and changes the version that it reports: first to an older one, then back.
func replaced(t *testing.T, s *soak, _ time.Duration, _ *rand.Rand) {
	s.do(t, "kube-apiserver", "stop")
	version := ""
	if s.road.pretends() == "" {
		version = "v1.34.1"
	}
	s.road.pretend(version)
	s.do(t, "kube-apiserver", "start")
	want, err := s.Upstream.Ask(t.Context(), testkit.Question{Path: "/version"})
	if err != nil {
		t.Fatal(err)
	}
	if version == "" {
		version = string(gitVersion.Find(want.Body))
	} else {
		version = fmt.Sprintf(`"gitVersion": %q`, version)
	}
	testkit.Eventually(t, "the facade reports the other version", func() error {
		answer, err := s.asker.Ask(t.Context(), testkit.Question{Path: "/version"})
		if err == nil && string(gitVersion.Find(answer.Body)) != version {
			err = fmt.Errorf("%d: %s, want %s", answer.Code, answer.Body, version)
		}
		return err
	})
}

// compacted compacts etcd. In half of the cases it restarts kube-apiserver, which then also loses its window.
func compacted(t *testing.T, s *soak, lasts time.Duration, draw *rand.Rand) {
	restart := draw.IntN(2) > 0
	if restart {
		s.log("with a restart of kube-apiserver")
		s.do(t, "kube-apiserver", "kill")
	} else {
		s.road.cut()
	}
	if err := s.cluster.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if restart {
		s.do(t, "kube-apiserver", "start")
	}
	last(lasts)
}

// storeKilled kills etcd, and takes a backup while it is down.
func storeKilled(t *testing.T, s *soak, lasts time.Duration, _ *rand.Rand) {
	s.do(t, "etcd", "kill")
	s.takeBackup(t)
	last(lasts)
	s.do(t, "etcd", "start")
}
