package testkit

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// The same seed generates the same script, and a script's text can be parsed.
func TestScriptsAreRepeatable(t *testing.T) {
	for seed := range uint64(settings.Amount(100, 500)) {
		script := NewScript(seed)
		if again := NewScript(seed); script.String() != again.String() {
			t.Fatalf("seed %d generated two different scripts:\n%s", seed, cmp.Diff(script.String(), again.String()))
		}
		read, err := ParseScript("# a comment\n\n" + script.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(script.String(), read.String()); diff != "" {
			t.Errorf("seed %d is parsed as another script:\n%s", seed, diff)
		}
		for _, step := range read {
			step = step.Fill(map[string]string{"namespace": "n", "run": "r", "group": "g.example.com"}, []uint64{1})
			if line := step.Line(); strings.ContainsAny(line, "{}") {
				t.Errorf("seed %d: a blank remains: %s", seed, line)
			}
			if !step.asks() {
				continue
			}
			if _, err := http.NewRequest(http.MethodGet, "https://host"+step.Question.Path, nil); err != nil {
				t.Errorf("seed %d: request for %s: %v", seed, step.Line(), err)
			}
			if watches := step.Question.Watches(); watches != (step.Do == Watch) {
				t.Errorf("seed %d: %s: watches: %v", seed, step.Line(), watches)
			}
		}
	}
	if NewScript(1).String() == NewScript(2).String() {
		t.Error("different seeds generated the same script")
	}
}

func TestScriptsContainEveryWord(t *testing.T) {
	var expected []string
	for action := range words {
		expected = append(expected, "\n"+string(action))
	}
	for _, r := range scriptResources {
		expected = append(expected, "\nput "+r.resource, "\nwatch GET "+r.root+"/"+r.resource+"?", "\nask GET "+r.root, r.root+"/watch/")
		for _, field := range r.fields {
			expected = append(expected, escapeBlanks(field))
		}
	}
	expected = append(expected, scriptStarts...)
	expected = append(expected, scriptAges...)
	for _, accept := range slices.Concat(scriptAccepts, scriptObjectAccepts, scriptListAccepts) {
		expected = append(expected, "Accept: "+accept)
	}
	for _, part := range redefinedParts {
		expected = append(expected, "redefine gadgets "+part, "redefine rings "+part)
	}
	expected = append(expected, "Upgrade: websocket", "Accept-Encoding: gzip", "timeoutSeconds=1", "allowWatchBookmarks=1")
	seed := uint64(0)
	for _, word := range unseen(expected, 60, func() string {
		var some strings.Builder
		for range 50 {
			some.WriteString("\n" + NewScript(seed).String())
			seed++
		}
		return some.String()
	}) {
		t.Errorf("no script contains %q", word)
	}
}

func TestParseScriptRefuses(t *testing.T) {
	for _, line := range []string{"put configmaps o1", "delete", "dance configmaps", "watch /x", "ask", "destroy now"} {
		if script, err := ParseScript(line); err == nil {
			t.Errorf("parsed %q as %v, want an error", line, script)
		}
	}
}

func TestFill(t *testing.T) {
	step := Step{Do: Watch, Question: Question{Path: "/apis/{group}/v1/x?a={version:0}&b={version:2}&c={version:9}&d={version:+4}"}}
	got := step.Fill(map[string]string{"group": "g"}, []uint64{10, 20, 30, 40}).Question.Path
	if want := "/apis/g/v1/x?a=40&b=20&c=10&d=44"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
