package bookmarks_test

import (
	"fmt"
	"time"

	"github.com/listfacade/listfacade/bookmarks"
)

// A streaming list of pods that may last two minutes. A bookmark ends its initial events, others follow, and the last
// comes two seconds before the end.
func Example() {
	// The template of a pod's bookmarks is learned from a bookmark of the upstream.
	template, err := bookmarks.Learn([]byte(
		`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7"},"spec":{"containers":null},"status":{}}`))
	if err != nil {
		panic(err)
	}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	schedule := bookmarks.NewSchedule(bookmarks.Options{
		Start: start, Deadline: start.Add(2 * time.Minute), InitialEvents: bookmarks.SendInitialEventsEnd,
	})
	rv := uint64(100) // every event up to here was sent
	for due, ok := schedule.Next(); ok; due, ok = schedule.Next() {
		if kind, send := schedule.Take(due, rv); send {
			fmt.Printf("after %v:\n%s\n", due.Sub(start), template.Append(nil, rv, kind))
		}
		rv++ // another event came in the meantime
	}
	// Output: after 0s:
	// {"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"100","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null},"status":{}}
	// after 1s:
	// {"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"101"},"spec":{"containers":null},"status":{}}
	// after 1m1s:
	// {"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"102"},"spec":{"containers":null},"status":{}}
	// after 1m58s:
	// {"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"103"},"spec":{"containers":null},"status":{}}
}
