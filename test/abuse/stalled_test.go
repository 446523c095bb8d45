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

// Callers without any rights ask for documents and take nothing of them, with as many streams as a connection has and
// on several of them: nobody else is refused, or waits for them. They have what they asked for until there is too much
// of it.
func TestStalledAnswers(t *testing.T) {
	const streams = 50
	attackers, connections := settings.Amount(10, 100), settings.Amount(3, 5)
	s := newSite(t)
	other := s.reader(t, "other")
	handlers := requests()
	var speakers []*speaker
	for i := range attackers {
		attacker := s.visitor(t, s.cluster.ConfigOf(t, fmt.Sprint("stalling-", i)))
		attacker.becomes(t, "/version", http.StatusOK)
		for range connections {
			speaker := attacker.speak(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			go func() { _ = speaker.listen() }()
			for id := range uint32(streams) {
				speaker.ask(t, 2*id+1, "/openapi/v2", true)
			}
			speakers = append(speakers, speaker)
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
			t.Fatalf("another is told %d", got.code)
		}
	}
	testkit.Eventually(t, "some answers ended for others", func() error {
		if n := s.sum(t, "listfacade_displaced_answers_total"); n == 0 {
			return fmt.Errorf("%.0f did", n)
		}
		return nil
	})
	for _, speaker := range speakers {
		_ = speaker.conn.Close()
	}
	testkit.Eventually(t, "nothing is left of them", func() error {
		if n := requests() - handlers; n > 0 {
			return fmt.Errorf("%d requests", n)
		}
		return nil
	})
	if log := fmt.Sprint(s.facade.Logs.All()); strings.Contains(log, "panicked") {
		t.Error(log)
	}
}
