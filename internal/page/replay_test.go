package page

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// A problem whose beginning is known has the command that shows the cluster at that time, if there is a journal.
func TestProblemsLeadToTheirMoment(t *testing.T) {
	s := illStatus()
	silent := time.Duration(s.Upstream.SilentSeconds * float64(time.Second))
	began := s.At.Add(-silent).UTC().Format(time.RFC3339)
	for dir, want := range map[string]string{
		"":                       "",
		"/var/lib/journal":       "listfacade replay --journal-dir /var/lib/journal --at " + began,
		"/a b/it's; touch <x> $": `listfacade replay --journal-dir '/a b/it'\''s; touch <x> $' --at ` + began,
	} {
		if s.Journal = nil; dir != "" {
			s.Journal = &Journal{Dir: dir, Open: true}
		}
		var got Status
		if err := json.Unmarshal([]byte(answered(t, of(s), Path, "output=json", "")), &got); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, p := range got.Problems {
			if p.Replay != "" && p.Since.IsZero() || dir == "" && p.Replay != "" {
				t.Errorf("%s: got the command %q since %s", p.What, p.Replay, p.Since)
			}
			if strings.HasPrefix(p.What, "kube-apiserver has not responded") {
				found = true
				if p.Replay != want {
					t.Errorf("got the command %q, want %q", p.Replay, want)
				}
			}
		}
		if !found {
			t.Error("got no problem about kube-apiserver")
		}
		if text := answered(t, of(s), Path, "output=text", ""); !strings.Contains(text, want) {
			t.Errorf("got no %q in the text:\n%s", want, text)
		}
		if html := answered(t, of(s), Path, "", "text/html"); strings.Contains(html, "as it was then") != (dir != "") {
			t.Errorf("directory %q: got a page with or without the command", dir)
		}
	}
}
