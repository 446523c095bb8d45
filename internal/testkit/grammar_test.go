package testkit

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var grammarSubjects = []Subject{
	{Root: "/api/v1", Resource: "pods", Objects: []Object{{Namespace: "oracle", Name: "alpha"}}},
	{Root: "/apis/ex.io/v1", Resource: "gadgets", Objects: []Object{{Name: "oracle-1"}}},
}

// made returns the questions of a seed.
func made(seed uint64, n int) []string {
	g := NewGrammar(seed, grammarSubjects)
	lines := make([]string, n)
	for i := range lines {
		lines[i] = g.Question().Line()
	}
	return lines
}

func TestGrammarIsDeterministic(t *testing.T) {
	if diff := cmp.Diff(made(7, 500), made(7, 500)); diff != "" {
		t.Errorf("the same seed generated different questions:\n%s", diff)
	}
	if slices.Equal(made(7, 500), made(8, 500)) {
		t.Error("different seeds generated the same questions")
	}
}

// Every word of the grammar occurs in the generated questions.
func TestGrammarGeneratesEveryWord(t *testing.T) {
	g := NewGrammar(1, grammarSubjects)
	for _, word := range unseen(grammarWords(), 20, func() string {
		var some strings.Builder
		for range 10_000 {
			some.WriteString("\n" + g.Question().Line())
		}
		return some.String() + "\n"
	}) {
		t.Errorf("no question contains %q", word)
	}
}

// grammarWords returns the texts that questions must contain.
func grammarWords() (all []string) {
	for _, words := range [][]string{oddNames, endings, documents, lostPaths, watchWords, junk, {
		"\nHEAD /", "\nOPTIONS /", "\nPOST /", "\nPUT /", "\nPATCH /", "status.phase%3DPending%2Cspec.restartPolicy%3DAlways", "\nGET /api/v1/pods?", "/namespaces/nowhere/pods?", "/namespaces/oracle/pods/alpha?", "/apis/ex.io/v1/gadgets?", "/v1/gadgets/oracle-1?",
		"/namespaces/oracle/gadgets?", "/api/v1/watch/pods?watch", "/api/v1/watch/pods?timeoutSeconds", "/watch/namespaces/oracle/pods/alpha?",
	}} {
		all = append(all, words...)
	}
	for _, p := range slices.Concat(listParameters, getParameters, watchParameters) {
		for _, value := range slices.Concat(p.good, p.odd) {
			if !isBlank(value) {
				value = url.QueryEscape(value)
			}
			all = append(all, p.name+"="+value)
		}
	}
	for _, p := range slices.Concat(readHeaders, watchHeaders) {
		for _, value := range slices.Concat(p.good, p.odd) {
			all = append(all, headerMark+p.name+": "+value)
		}
	}
	return all
}

// unseen returns the words that are in none of the generated texts, of which there are at most the given number.
func unseen(words []string, texts int, generate func() string) []string {
	for ; texts > 0 && len(words) > 0; texts-- {
		text := generate()
		words = slices.DeleteFunc(words, func(word string) bool { return strings.Contains(text, word) })
	}
	return words
}

// The lines of generated questions can be parsed.
func TestQuestionLines(t *testing.T) {
	g := NewGrammar(3, grammarSubjects)
	for range 2000 {
		q := g.Question()
		read, err := ParseQuestion(q.Line())
		q.Method = q.method()
		if diff := cmp.Diff(q, read); err != nil || diff != "" {
			t.Fatalf("%s: %v %s", q.Line(), err, diff)
		}
		if _, err := http.NewRequest(read.Method, "https://host"+read.Path, nil); err != nil {
			t.Errorf("request for %s: %v", q.Line(), err)
		}
	}
	for _, bad := range []string{"", "GET", "GET x", "GET /x | y"} {
		if _, err := ParseQuestion(bad); err == nil {
			t.Errorf("parsed %q as a question, want an error", bad)
		}
	}
}
