package testkit

import (
	"slices"
	"strings"
	"testing"
)

// TestCheckReplayed checks watches of all and of red objects across a lost window from 10 to 16.
func TestCheckReplayed(t *testing.T) {
	lost := LostWindow{From: 10, To: 13} // a has become blue, and b was born blue
	all := []string{frame("ADDED", "ns/b", 12, "blue"), frame("MODIFIED", "ns/a", 13, "blue"), mark(13)}
	later := []string{frame("MODIFIED", "ns/a", 14, "red"), frame("DELETED", "ns/b", 15, "blue"), mark(20)}
	changed := later[0]
	whole := append(slices.Clone(all), later...)
	for name, c := range map[string]struct {
		query  string
		lines  []string
		gap    LostWindow
		breaks Guarantee
	}{
		"the difference":          {"resourceVersion=10", whole, lost, ""},
		"selected":                {fromTen, []string{frame("DELETED", "ns/a", 10, "red"), mark(13), frame("ADDED", "ns/a", 14, "red"), mark(20)}, lost, ""},
		"from the end":            {"resourceVersion=13", later, lost, ""},
		"one that is gone":        {"resourceVersion=14", []string{frame("DELETED", "ns/b", 14, "blue"), mark(18)}, LostWindow{14, 18}, ""},
		"gone behind a bookmark":  {"resourceVersion=13", []string{changed, mark(14), frame("DELETED", "ns/b", 14, "blue"), mark(18)}, LostWindow{14, 18}, ""},
		"gone, and cut off":       {"resourceVersion=13", []string{changed, frame("DELETED", "ns/b", 14, "blue")}, LostWindow{14, 18}, ""},
		"gone twice":              {"resourceVersion=14", []string{frame("DELETED", "ns/b", 14, "blue"), frame("DELETED", "ns/b", 14, "blue")}, LostWindow{14, 18}, Unique},
		"gone at a free version":  {"resourceVersion=14", []string{frame("DELETED", "ns/b", 18, "blue"), mark(18)}, LostWindow{14, 18}, Filtered},
		"left at a change":        {fromTen, []string{frame("DELETED", "ns/a", 13, "red"), mark(13)}, lost, Filtered},
		"gone with other content": {"resourceVersion=14", []string{frame("DELETED", "ns/b", 14, "red"), mark(18)}, LostWindow{14, 18}, Reliable},
		"gone too late":           {"resourceVersion=14", []string{mark(18), frame("DELETED", "ns/b", 19, "blue"), mark(20)}, LostWindow{14, 18}, Reliable},
		"what was in between":     {"resourceVersion=10", append([]string{frame("MODIFIED", "ns/a", 11, "red")}, whole...), lost, Filtered},
		"one is lost":             {"resourceVersion=10", whole[1:], lost, Reliable},
		"the last is lost":        {"resourceVersion=10", append(slices.Clone(all[:1]), later...), lost, Reliable},
		"a deletion is lost":      {"resourceVersion=10", append(slices.Clone(whole[:4]), mark(20)), lost, Reliable},
		"cut off inside":          {"resourceVersion=10", all[:1], lost, Reliable},
		"in another order":        {"resourceVersion=10", append([]string{all[1], all[0]}, later...), lost, Ordered},
		"a bookmark inside":       {"resourceVersion=10", slices.Insert(slices.Clone(whole), 1, mark(12)), lost, Replayed},
		"nothing, inside":         {"resourceVersion=11", nil, lost, ""},
		"from the inside":         {"resourceVersion=11", whole, lost, Replayed},
		"entering as a change":    {"resourceVersion=10", append([]string{frame("MODIFIED", "ns/b", 12, "blue")}, whole[1:]...), lost, Filtered},
		"no lost window":          {"resourceVersion=10", whole, LostWindow{}, Reliable},
	} {
		err := CheckReplayed(recording(c.query, c.lines...), history(t), c.gap)
		if (err == nil) != (c.breaks == "") || (err != nil && !strings.Contains(err.Error(), string(c.breaks))) {
			t.Errorf("%s: got %v, want %q", name, err, c.breaks)
		}
	}
}

// A watch may end after the replay of one lost window, where the next begins, without an event of the next.
func TestCheckReplayedAcceptsEndBeforeNextWindow(t *testing.T) {
	told := recording(fromTen, frame("DELETED", "ns/a", 10, "red"), mark(13))
	if err := CheckReplayed(told, history(t), LostWindow{From: 10, To: 13}, LostWindow{From: 13, To: 14}); err != nil {
		t.Error(err)
	}
}

// A lost window may begin at the end of another, with its deletions at that version.
func TestCheckReplayedAcceptsAdjacentWindows(t *testing.T) {
	model, err := NewModel(recording("",
		frame("ADDED", "ns/a", 5, "red"), frame("ADDED", "ns/b", 4, "red"), endMark(10), frame("ADDED", "ns/c", 11, "red"),
		frame("DELETED", "ns/c", 12, "red"), frame("DELETED", "ns/a", 14, "red"), frame("DELETED", "ns/b", 15, "red"), mark(20)))
	if err != nil {
		t.Fatal(err)
	}
	told := recording("resourceVersion=10", frame("DELETED", "ns/a", 13, "red"), frame("DELETED", "ns/b", 13, "red"), mark(16))
	if err := CheckReplayed(told, model, LostWindow{From: 10, To: 13}, LostWindow{From: 13, To: 16}); err != nil {
		t.Error(err)
	}
}
