package abuse

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// Callers without rights request documents on all streams of several connections, and do not read the responses. No
// other caller is refused or waits for them. Their responses continue until there are too many of them.
func TestStalledAnswers(t *testing.T) {
	const streams = 50
	attackers, connections := settings.Amount(10, 100), settings.Amount(3, 5)
	s := newSite(t)
	other := s.reader(t, "other")
	handlers := requests()
	var writers []*frameWriter
	for i := range attackers {
		attacker := s.visitor(t, s.cluster.ConfigOf(t, fmt.Sprint("stalling-", i)))
		attacker.becomes(t, "/version", http.StatusOK)
		for range connections {
			writer := attacker.speak(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			go func() { _ = writer.listen() }()
			for id := range uint32(streams) {
				writer.ask(t, 2*id+1, "/openapi/v2", true)
			}
			writers = append(writers, writer)
		}
	}
	testkit.Eventually(t, "more answers are stalled than there are seats", func() error {
		if n := requests() - handlers; n < streams*attackers {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	for range 200 {
		if got := other.get(t, s.configMaps()); got.code != http.StatusOK {
			t.Fatalf("the other caller: got %d, want 200", got.code)
		}
	}
	testkit.Eventually(t, "some stalled answers were displaced", func() error {
		if n := s.sum(t, "listfacade_displaced_answers_total"); n == 0 {
			return fmt.Errorf("got %.0f displaced answers, want some", n)
		}
		return nil
	})
	for _, writer := range writers {
		_ = writer.conn.Close()
	}
	testkit.Eventually(t, "the stalled requests have ended", func() error {
		if n := requests() - handlers; n > 0 {
			return fmt.Errorf("%d requests are still open", n)
		}
		return nil
	})
	if log := fmt.Sprint(s.facade.Logs.All()); strings.Contains(log, "panicked") {
		t.Error(log)
	}
}
