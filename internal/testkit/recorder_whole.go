package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// RecordWhole records a watch with initial events and bookmarks in plain JSON, for a model. If the release does not
// mark the end of initial events, it records a list and a watch from the list's version.
func (a *Asker) RecordWhole(ctx context.Context, q Question) (*Recorder, error) {
	if asked().marks(q) {
		return a.Record(ctx, q)
	}
	begun, version, err := a.listed(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q, err)
	}
	return a.record(ctx, q.From(version), begun)
}

// MustRecordWhole is RecordWhole that fails the test on an error. It closes the recorder when the test ends.
func (a *Asker) MustRecordWhole(t testing.TB, q Question) *Recorder {
	t.Helper()
	r, err := a.RecordWhole(context.WithoutCancel(t.Context()), q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// listed returns a list as the initial events of a watch, and the list's version.
func (a *Asker) listed(ctx context.Context, q Question) (*Recording, uint64, error) {
	path, _, _ := strings.Cut(q.Path, "?")
	selected := url.Values{"labelSelector": q.query()["labelSelector"]}
	answer, err := a.Ask(ctx, Question{Path: path + "?" + selected.Encode(), Header: q.Header})
	if err != nil {
		return nil, 0, err
	}
	var list struct {
		Kind, APIVersion string
		Items            []json.RawMessage
	}
	if err := json.Unmarshal(answer.Body, &list); err != nil {
		return nil, 0, err
	}
	kind := fmt.Sprintf(`"kind":%q,"apiVersion":%q,`, strings.TrimSuffix(list.Kind, "List"), list.APIVersion)
	begun := &Recording{Question: q}
	for _, item := range list.Items {
		text := string(item)
		if strings.HasPrefix(text, `{"metadata":`) { // items of built-in kinds lack kind and apiVersion
			text = "{" + kind + text[1:]
		}
		begun.Frames = append(begun.Frames, Frame{Line: fmt.Appendf(nil, `{"type":"ADDED","object":%s}`, text)})
	}
	version := answer.listVersion()
	begun.Frames = append(begun.Frames, Frame{Line: fmt.Appendf(nil,
		`{"type":"BOOKMARK","object":{%s"metadata":{"resourceVersion":"%d","annotations":{%q:"true"}}}}`, kind, version,
		initialEventsEnd)})
	return begun, version, nil
}
