package bookmarks_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/bookmarks"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// run executes a schedule to its end, or at most to limit, and records what the watch would send. The function rvAt
// returns the watch's resourceVersion at a time since its start.
func run(o bookmarks.Options, limit time.Duration, rvAt func(time.Duration) uint64) []string {
	var sent []string
	schedule := bookmarks.NewSchedule(o)
	for {
		due, ok := schedule.Next()
		if !ok || due.Sub(o.Start) > limit {
			return sent
		}
		since := due.Sub(o.Start)
		switch kind, send := schedule.Take(due, rvAt(since)); {
		case send && kind == bookmarks.InitialEventsEnd:
			sent = append(sent, fmt.Sprintf("%v end@%d", since, rvAt(since)))
		case send:
			sent = append(sent, fmt.Sprintf("%v plain@%d", since, rvAt(since)))
		default:
			sent = append(sent, fmt.Sprintf("%v skipped", since))
		}
	}
}

func still(rv uint64) func(time.Duration) uint64 {
	return func(time.Duration) uint64 { return rv }
}

// perSecond increases the resourceVersion by one each second.
func perSecond(rv uint64) func(time.Duration) uint64 {
	return func(since time.Duration) uint64 { return rv + uint64(since/time.Second) }
}

// The times without initial events were measured at kube-apiserver, without its one-second bucket (semantics 4.3,
// 10.3).
func TestScheduleFollowsKubeApiserver(t *testing.T) {
	tests := []struct {
		name    string
		timeout time.Duration
		options bookmarks.Options
		rvAt    func(time.Duration) uint64
		want    []string
	}{
		{"1 s", time.Second, bookmarks.Options{Floor: 10}, still(11), nil},
		{"2 s", 2 * time.Second, bookmarks.Options{Floor: 10}, still(11), nil},
		{"3 s", 3 * time.Second, bookmarks.Options{Floor: 10}, still(11), []string{"1s plain@11"}},
		{"6 s", 6 * time.Second, bookmarks.Options{Floor: 10}, still(11), []string{"4s plain@11"}},
		{"62 s", 62 * time.Second, bookmarks.Options{Floor: 10}, still(11), []string{"1m0s plain@11"}},
		{
			"150 s", 150 * time.Second, bookmarks.Options{Floor: 10}, still(11),
			[]string{"1m0s plain@11", "2m0s plain@11", "2m28s plain@11"}, // an equal RV may repeat
		},
		{
			"not above the floor yet", 150 * time.Second, bookmarks.Options{Floor: 100}, perSecond(10),
			[]string{"1m0s skipped", "2m0s plain@130", "2m28s plain@158"},
		},
		{
			"initial events, quiet", 150 * time.Second,
			bookmarks.Options{InitialEvents: bookmarks.SendInitialEventsEnd}, still(11),
			[]string{"0s end@11", "1s skipped", "1m1s skipped", "2m1s skipped", "2m28s skipped"},
		},
		{
			"initial events, busy", 150 * time.Second,
			bookmarks.Options{InitialEvents: bookmarks.SendInitialEventsEnd}, perSecond(11),
			[]string{"0s end@11", "1s plain@12", "1m1s plain@72", "2m1s plain@132", "2m28s plain@159"},
		},
		{
			"initial events replace the floor", 10 * time.Second,
			bookmarks.Options{InitialEvents: bookmarks.SendInitialEventsEnd, Floor: 99}, perSecond(11),
			[]string{"0s end@11", "1s plain@12", "8s plain@19"},
		},
		{
			"initial events, too short for more", time.Second,
			bookmarks.Options{InitialEvents: bookmarks.SendInitialEventsEnd}, perSecond(11),
			[]string{"0s end@11", "1s plain@12"},
		},
		{
			"deadline passed before it began", -time.Second, bookmarks.Options{Floor: 10}, still(11), nil,
		},
		{
			"a faster interval", 10 * time.Second, bookmarks.Options{Interval: 3 * time.Second, Floor: 10}, still(11),
			[]string{"3s plain@11", "6s plain@11", "8s plain@11"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.options.Start = start
			test.options.Deadline = start.Add(test.timeout)
			if diff := cmp.Diff(test.want, run(test.options, time.Hour, test.rvAt)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScheduleWithoutDeadline(t *testing.T) {
	got := run(bookmarks.Options{Start: start}, 3*time.Minute, still(1))
	if diff := cmp.Diff([]string{"1m0s plain@1", "2m0s plain@1", "3m0s plain@1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWatchesOfOnePhaseShareTheirTicks: watches that begin within a second of each other send all their bookmarks at
// the same times, and each first bookmark is less than a second early.
func TestWatchesOfOnePhaseShareTheirTicks(t *testing.T) {
	for phase := time.Duration(0); phase < time.Second; phase += 250 * time.Millisecond {
		var times []time.Time
		for i := range 4 {
			began := start.Add(phase + time.Duration(i)*249*time.Millisecond)
			o := bookmarks.Options{Start: began, Deadline: start.Add(150 * time.Second), Phase: phase}
			schedule := bookmarks.NewSchedule(o)
			var got []time.Time
			for due, ok := schedule.Next(); ok; due, ok = schedule.Next() {
				got = append(got, due)
				schedule.Take(due, 1)
			}
			if early := began.Add(bookmarks.DefaultInterval).Sub(got[0]); early < 0 || early >= time.Second {
				t.Errorf("phase %v, watch %d: the first bookmark is %v early, want less than a second", phase, i, early)
			}
			if i == 0 {
				times = got
			}
			if diff := cmp.Diff(times, got); diff != "" {
				t.Errorf("phase %v: bookmarks of watches 0 and %d are due at different times (-want +got):\n%s", phase, i, diff)
			}
		}
	}
}

// A watch of 2 to 3 s gets its bookmark at any phase, at most a second early and only once.
func TestShortWatchGetsOneBookmark(t *testing.T) {
	for life := 2100 * time.Millisecond; life <= 3*time.Second; life += 100 * time.Millisecond {
		for phase := time.Duration(0); phase < time.Second; phase += 50 * time.Millisecond {
			o := bookmarks.Options{Start: start, Deadline: start.Add(life), Phase: phase}
			schedule := bookmarks.NewSchedule(o)
			due, ok := schedule.Next()
			since, last := due.Sub(start), life-2*time.Second
			if !ok || since <= 0 || since > last {
				t.Errorf("life %v, phase %v: got a bookmark after %v, %t, want one after at most %v", life, phase, since, ok, last)
			}
			if _, send := schedule.Take(due, 1); !send {
				t.Errorf("life %v, phase %v: got no bookmark when it was due", life, phase)
			}
			if due, ok := schedule.Next(); ok {
				t.Errorf("life %v, phase %v: got another bookmark after %v", life, phase, due.Sub(start))
			}
		}
	}
}

func TestTakeBeforeDueChangesNothing(t *testing.T) {
	schedule := bookmarks.NewSchedule(bookmarks.Options{Start: start})
	before := schedule
	if _, send := schedule.Take(start.Add(59*time.Second), 1); send {
		t.Error("got a bookmark a second early")
	}
	if schedule != before {
		t.Errorf("Take before Next changed the schedule from %v to %v", before, schedule)
	}
}

func TestLateTakePlansFromThePresent(t *testing.T) {
	schedule := bookmarks.NewSchedule(bookmarks.Options{Start: start, Deadline: start.Add(time.Hour)})
	late := start.Add(5 * time.Minute)
	if _, send := schedule.Take(late, 1); !send {
		t.Fatal("got no bookmark after Next")
	}
	if due, ok := schedule.Next(); !ok || !due.Equal(late.Add(time.Minute)) {
		t.Errorf("Next = %v, %v, want one interval after Take", due, ok)
	}
}

func TestInitialEventsMayTakeLongerThanTheWatch(t *testing.T) {
	schedule := bookmarks.NewSchedule(bookmarks.Options{
		Start: start, Deadline: start.Add(time.Second), InitialEvents: bookmarks.SendInitialEventsEnd,
	})
	kind, send := schedule.Take(start.Add(3*time.Second), 7)
	if kind != bookmarks.InitialEventsEnd || !send {
		t.Errorf("Take = %v, %v, want initial-events-end, true", kind, send)
	}
}

// TestLast: a watch that ends early sends a bookmark if its resourceVersion has increased since it began, but none
// before its initial events end.
func TestLast(t *testing.T) {
	start := time.Now()
	s := bookmarks.NewSchedule(bookmarks.Options{Start: start, Floor: 7})
	for rv, want := range map[uint64]bool{6: false, 7: false, 8: true} {
		if got := s.Last(rv); got != want {
			t.Errorf("Last(%d) = %t", rv, got)
		}
	}
	s = bookmarks.NewSchedule(bookmarks.Options{Start: start, InitialEvents: bookmarks.SendInitialEventsEnd})
	if s.Last(8) {
		t.Error("Last = true before the initial events end")
	}
	if _, send := s.Take(start, 8); !send || s.Last(8) || !s.Last(9) {
		t.Errorf("after initial events at 8: got send %t, Last(8) %t, Last(9) %t", send, s.Last(8), s.Last(9))
	}
	if (&bookmarks.Schedule{}).Last(1) {
		t.Error("Last = true for the zero Schedule")
	}
}
