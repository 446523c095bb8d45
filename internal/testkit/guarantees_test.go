package testkit

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// frame returns a frame in kube-apiserver's encoding.
func frame(kind, key string, rv int, color string) string {
	namespace, name, _ := strings.Cut(key, "/")
	return fmt.Sprintf(`{"type":"%s","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%s","namespace":"%s","resourceVersion":"%d","labels":{"color":"%s"}}}}`,
		kind, name, namespace, rv, color)
}

func mark(rv int) string {
	return fmt.Sprintf(`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%d"}}}`, rv)
}

func endMark(rv int) string {
	return fmt.Sprintf(`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}`, rv)
}

func recording(query string, lines ...string) *Recording {
	r := &Recording{Question: Question{Path: "/api/v1/configmaps?watch=1&allowWatchBookmarks=true&" + query}}
	for _, line := range lines {
		r.Frames = append(r.Frames, Frame{Line: []byte(line), At: time.Unix(0, 0)})
	}
	return r
}

// history is the history in these tests: a is red until 13, and again from 14. b is created blue at 12 and deleted at
// 15.
func history(t *testing.T) *Model {
	t.Helper()
	m, err := NewModel(recording("",
		frame("ADDED", "ns/a", 5, "red"), frame("ADDED", "ns/c", 4, "red"), endMark(10),
		frame("MODIFIED", "ns/a", 11, "red"), frame("ADDED", "ns/b", 12, "blue"), frame("MODIFIED", "ns/a", 13, "blue"),
		frame("MODIFIED", "ns/a", 14, "red"), frame("DELETED", "ns/b", 15, "blue"), mark(20)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const (
	fromStart = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&labelSelector=color%3Dred"
	fromTen   = "resourceVersion=10&labelSelector=color%3Dred"
)

// red returns the frames of a correct watch of red objects from the start.
func red() []string {
	return []string{
		frame("ADDED", "ns/a", 5, "red"), frame("ADDED", "ns/c", 4, "red"), endMark(10), frame("MODIFIED", "ns/a", 11, "red"),
		frame("DELETED", "ns/a", 13, "red"), mark(13), frame("ADDED", "ns/a", 14, "red"), mark(20),
	}
}

func TestCheckWatchAcceptsCorrectWatches(t *testing.T) {
	for name, r := range map[string]*Recording{
		"from the start": recording(fromStart, red()...),
		"from a version": recording(fromTen, red()[3:]...),
		"later":          recording("resourceVersion=12&labelSelector=color%3Dred", red()[4:]...),
		"by namespace":   recording("resourceVersion=10&fieldSelector=metadata.namespace%3Dother", mark(20)),
		"by name": recording("resourceVersion=10&fieldSelector=metadata.name%3Db",
			frame("ADDED", "ns/b", 12, "blue"), frame("DELETED", "ns/b", 15, "blue")),
		"nothing yet": recording(fromTen),
	} {
		if err := CheckWatch(r, history(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckWatchFindsEachBrokenGuarantee(t *testing.T) {
	replace := func(i int, lines ...string) []string { return slices.Replace(red(), i, i+1, lines...) }
	swap := func(i, j int) []string {
		lines := red()
		lines[i], lines[j] = lines[j], lines[i]
		return lines
	}
	for name, c := range map[string]struct {
		breaks Guarantee
		query  string
		lines  []string
	}{
		"initial events by version":       {Ordered, fromStart, swap(0, 1)},
		"live events swapped":             {Ordered, fromTen, []string{red()[3], red()[6], red()[4]}},
		"an initial event twice":          {Unique, fromStart, replace(1, red()[1], red()[1])},
		"a live event twice":              {Unique, fromTen, []string{red()[3], red()[3], red()[4]}},
		"an initial event is live too":    {Unique, fromStart, replace(3, red()[1], red()[3])},
		"an initial event is missing":     {Reliable, fromStart, replace(1)},
		"a live event is missing":         {Reliable, fromStart, replace(4)},
		"the last event is missing":       {Reliable, fromStart, replace(6)},
		"other content":                   {Reliable, fromStart, replace(3, strings.Replace(red()[3], `"labels"`, `"uid":"1","labels"`, 1))},
		"leaving with the new content":    {Reliable, fromStart, replace(4, frame("DELETED", "ns/a", 13, "blue"))},
		"leaving under the old version":   {Filtered, fromStart, replace(4, frame("DELETED", "ns/a", 11, "red"))},
		"entering as a change":            {Filtered, fromStart, replace(6, frame("MODIFIED", "ns/a", 14, "red"))},
		"a change as entering":            {Filtered, fromStart, replace(3, frame("ADDED", "ns/a", 11, "red"))},
		"an object of another selection":  {Filtered, fromStart, replace(4, frame("ADDED", "ns/b", 12, "blue"), red()[4])},
		"an initial event not selected":   {Filtered, fromStart, replace(1, frame("ADDED", "ns/b", 4, "blue"), red()[1])},
		"the start is repeated":           {Resumable, "resourceVersion=11&labelSelector=color%3Dred", red()[3:]},
		"the first event is skipped":      {Resumable, fromTen, red()[4:]},
		"a bookmark before its event":     {Bookmarkable, fromStart, swap(4, 5)},
		"a bookmark below the last event": {Bookmarkable, fromStart, replace(5, mark(12))},
		"a bookmark below another":        {Bookmarkable, fromStart, replace(7, mark(20), mark(19))},
		"a bookmark below the start":      {Bookmarkable, fromTen, []string{mark(9)}},
		"a bookmark before the end":       {Bookmarkable, fromStart, replace(1, mark(9), red()[1])},
		"two ends of the initial events":  {Bookmarkable, fromStart, replace(5, endMark(13))},
		"an end without initial events":   {Bookmarkable, fromTen, append([]string{endMark(10)}, red()[3:]...)},
		"a bookmark without a request":    {Bookmarkable, fromTen + "&allowWatchBookmarks=false", []string{mark(20)}},
	} {
		t.Run(name, func(t *testing.T) {
			r := recording(c.query, c.lines...)
			if strings.Contains(c.query, "=false") {
				r.Question.Path = strings.Replace(r.Question.Path, "allowWatchBookmarks=true&", "", 1)
			}
			err := CheckWatch(r, history(t))
			if !breaks(err, c.breaks) {
				t.Fatalf("got %v, want an error for %q", err, c.breaks)
			}
			if !strings.Contains(err.Error(), string(c.breaks)) {
				t.Errorf("the error does not quote the guarantee: %v", err)
			}
		})
	}
}

// breaks reports whether CheckWatch found a guarantee broken.
func breaks(err error, g Guarantee) bool {
	var one *BrokenError
	if errors.As(err, &one) && one.Guarantee == g {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // walks the tree itself
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), func(err error) bool { return breaks(err, g) })
	case interface{ Unwrap() error }:
		return breaks(e.Unwrap(), g)
	}
	return false
}

func TestCheckWatchRejectsUnsupportedInput(t *testing.T) {
	for name, r := range map[string]*Recording{
		"initial events without an end": recording(fromStart, red()[:2]...),
		"starts now":                    recording("sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0", red()[3]),
		"starts before the model":       recording("resourceVersion=9", red()[3]),
		"ends after the model":          recording(fromTen, red()[3], mark(21)),
		"no frame":                      recording(fromTen, `{"type":`),
		"an error":                      recording(fromTen, `{"type":"ERROR","object":{"kind":"Status","code":410}}`),
	} {
		if err := CheckWatch(r, history(t)); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestCheckWatchReadsEveryRepresentation(t *testing.T) {
	whole := frame("ADDED", "ns/b", 12, "blue")
	object := strings.TrimSuffix(strings.TrimPrefix(whole, `{"type":"ADDED","object":`), "}")
	metadata := strings.Replace(object, `"kind":"ConfigMap","apiVersion":"v1"`, `"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"`, 1)
	table := func(object string) string {
		return `{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"12"},` +
			`"columnDefinitions":[],"rows":[{"cells":["b"],"object":` + object + `}]}}`
	}
	const by = "resourceVersion=11&labelSelector=color%3Dblue"
	for name, c := range map[string]struct{ query, accept, line string }{
		"metadata":            {by, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", `{"type":"ADDED","object":` + metadata + `}`},
		"table":               {by, "application/json;as=Table;g=meta.k8s.io;v=v1", table(metadata)},
		"table with objects":  {by + "&includeObject=Object", "application/json;as=Table;g=meta.k8s.io;v=v1", table(object)},
		"table without":       {by + "&includeObject=None", "application/json;as=Table;g=meta.k8s.io;v=v1", table("null")},
		"plain, as it stands": {by, "application/json", whole},
	} {
		r := recording(c.query, c.line)
		r.Question.Header = http.Header{"Accept": {c.accept}}
		if err := CheckWatch(r, history(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r = recording(c.query, strings.Replace(c.line, `"12"`, `"13"`, 1))
		r.Question.Header = http.Header{"Accept": {c.accept}}
		if err := CheckWatch(r, history(t)); err == nil {
			t.Errorf("%s: got no error under another version", name)
		}
	}
}

func TestNewModelRejectsUnsuitableWatches(t *testing.T) {
	for name, r := range map[string]*Recording{
		"selected":           recording("fieldSelector=metadata.name%3Da", red()...),
		"not all there was":  recording("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", red()...),
		"without an end":     recording("", red()[0]),
		"contradicts itself": recording("", endMark(3), frame("MODIFIED", "ns/a", 5, "red")),
	} {
		if _, err := NewModel(r); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// A model may have a label selector. Then it cannot check watches of other objects.
func TestModelOfALabel(t *testing.T) {
	model, err := NewModel(recording("labelSelector=color%3Dred", endMark(10)))
	if err != nil {
		t.Fatal(err)
	}
	model.Close(10)
	if err := CheckWatch(recording("resourceVersion=10&labelSelector=size,color%3Dred", mark(20)), model); err != nil {
		t.Error(err)
	}
	if err := CheckWatch(recording("resourceVersion=10&labelSelector=size", mark(20)), model); err == nil {
		t.Error("a model with a label selector checked a watch of all objects")
	}
}

func TestExpected(t *testing.T) {
	for query, want := range map[string]int{
		fromStart: 5, fromTen: 3, "resourceVersion=13": 2, "sendInitialEvents=false&resourceVersionMatch=NotOlderThan": 5, "fieldSelector=metadata.name%3Db": 2,
	} {
		if n, err := history(t).Expected(recording(query).Question, 10); n != want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", query, n, err, want)
		}
	}
}
