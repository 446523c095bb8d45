package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// The guarantees of reads.
const (
	Snapshot Guarantee = "snapshot (I10): a list contains exactly the objects at its resourceVersion"
	Fresh    Guarantee = "fresh: an answer is not older than the requested resourceVersion, or than an answer that the client has seen"
)

// CheckRead checks the answer to a LIST or GET against the model. A list must contain the objects at its
// resourceVersion. An object, or its absence, must be a state that existed. An answer must not be older than floor, or
// than the resourceVersion of the question. It must be a complete list or an object in plain JSON, and the model must
// include its version.
func CheckRead(q Question, a *Answer, floor uint64, m *Model) error {
	info, _ := q.info()
	if info == nil || (info.Verb != "list" && info.Verb != "get") {
		return fmt.Errorf("%s: not a read", q)
	}
	f, err := newFilter(q)
	if err != nil {
		return fmt.Errorf("%s: %w", q, err)
	}
	floor = max(floor, q.reads().floor)
	switch {
	case info.Verb == "list":
		err = m.holdsList(f, floor, a)
	case info.Namespace == "":
		err = m.holdsObject(info.Name, floor, a)
	default:
		err = m.holdsObject(info.Namespace+"/"+info.Name, floor, a)
	}
	if err != nil {
		return fmt.Errorf("%s\n%w", q, err)
	}
	return nil
}

func (m *Model) holdsList(f *filter, floor uint64, a *Answer) error {
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []json.RawMessage
	}
	if err := json.Unmarshal(a.Body, &list); err != nil || a.Code != http.StatusOK {
		return fmt.Errorf("not a list: %d: %s (%w)", a.Code, a.Body, err)
	}
	rv, err := strconv.ParseUint(list.Metadata.ResourceVersion, 10, 64)
	switch {
	case err != nil:
		return fmt.Errorf("not a list: %w: %s", err, a.Body)
	case rv < floor:
		return brokenRead(Fresh, "the list is at %d", rv)
	case rv < m.from || rv > m.to:
		return fmt.Errorf("the list is at %d, the model covers %d to %d", rv, m.from, m.to)
	}
	want := m.initial(f, rv)
	for i, item := range list.Items {
		if i >= len(want) || !isItem(want[i].Object, item) {
			return brokenRead(Snapshot, "at %d, item %d: got %s, want %s", rv, i, item, nth(want, i))
		}
	}
	if len(list.Items) < len(want) {
		return brokenRead(Snapshot, "at %d, %s is missing", rv, want[len(list.Items)])
	}
	return nil
}

// isItem reports whether an item of a list equals an object. Items of built-in kinds lack kind and apiVersion.
func isItem(object, item []byte) bool {
	return len(item) > 1 && bytes.HasPrefix(item, []byte("{")) && bytes.HasSuffix(object, item[1:])
}

func nth(events []Event, i int) string {
	if i >= len(events) {
		return "nothing"
	}
	return string(events[i].Object)
}

func (m *Model) holdsObject(key string, floor uint64, a *Answer) error {
	if a.Code != http.StatusOK && a.Code != http.StatusNotFound {
		return fmt.Errorf("not an object: %d: %s", a.Code, a.Body)
	}
	body := strings.TrimSuffix(string(a.Body), "\n")
	is := func(v *version) bool {
		if v == nil || a.Code == http.StatusNotFound {
			return v == nil && a.Code == http.StatusNotFound
		}
		return body == string(v.raw)
	}
	now, was := m.base[key], false // was is set if an older version equals the answer
	for _, c := range m.changes {
		if c.key != key {
			continue
		}
		if c.rv > floor && is(now) {
			return nil
		}
		was = was || is(now)
		now = c.after
	}
	switch {
	case is(now):
		return nil
	case was:
		return brokenRead(Fresh, "%s, which is an older version", a.Body)
	default:
		return brokenRead(Snapshot, "%d: %s, which is no version of the object", a.Code, a.Body)
	}
}

func brokenRead(g Guarantee, format string, args ...any) error {
	return fmt.Errorf("%s; promised: %s", fmt.Sprintf(format, args...), string(g))
}
