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
	Snapshot Guarantee = "snapshot (I10): a list is everything that was there at its resourceVersion, and nothing else"
	Fresh    Guarantee = "fresh: an answer is not from before the resourceVersion that was asked for, or what the client has seen"
)

// CheckRead holds the answer to a LIST or a GET against what happened. A list is what was there at the resourceVersion
// that it carries; an object, or its absence, is what was there at some moment. Neither may be from before the floor,
// or the resourceVersion that the question names. The answer must be a whole list or an object, in plain JSON; the
// model must reach as far as the answer.
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
		return fmt.Errorf("no list: %d: %s (%w)", a.Code, a.Body, err)
	}
	rv, err := strconv.ParseUint(list.Metadata.ResourceVersion, 10, 64)
	switch {
	case err != nil:
		return fmt.Errorf("no list: %w: %s", err, a.Body)
	case rv < floor:
		return brokenRead(Fresh, "the list is at %d", rv)
	case rv < m.from || rv > m.to:
		return fmt.Errorf("the list is at %d, the model tells of %d to %d", rv, m.from, m.to)
	}
	want := m.initial(f, rv)
	for i, item := range list.Items {
		if i >= len(want) || !isItem(want[i].Object, item) {
			return brokenRead(Snapshot, "at %d, item %d: %s, there was %s", rv, i, item, nth(want, i))
		}
	}
	if len(list.Items) < len(want) {
		return brokenRead(Snapshot, "at %d, %s is missing", rv, want[len(list.Items)])
	}
	return nil
}

// isItem tells whether an item of a list is an object: built-in kinds leave out there what kind it is.
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
		return fmt.Errorf("no object: %d: %s", a.Code, a.Body)
	}
	body := strings.TrimSuffix(string(a.Body), "\n")
	is := func(v *version) bool {
		if v == nil || a.Code == http.StatusNotFound {
			return v == nil && a.Code == http.StatusNotFound
		}
		return body == string(v.raw)
	}
	now, was := m.base[key], false // whether it is the answer to an older question
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
		return brokenRead(Fresh, "%s, which is from before", a.Body)
	default:
		return brokenRead(Snapshot, "%d: %s, which never was", a.Code, a.Body)
	}
}

func brokenRead(g Guarantee, format string, args ...any) error {
	return fmt.Errorf("%s; promised: %s", fmt.Sprintf(format, args...), string(g))
}
