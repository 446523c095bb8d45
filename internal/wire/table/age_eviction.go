package table

import (
	"github.com/listfacade/listfacade/internal/wire/scan"
)

// evictionResponderStatus renders "Started (5m ago)" and "Completed (5m ago)". Other states contain no time.
func evictionResponderStatus(eviction, _ []byte, at *Clock) (string, bool) {
	responder, state := shownResponder(eviction)
	switch state {
	case "Active":
		started, ok := timeAt(responder, "startTime")
		return "Started (" + at.since(started) + " ago)", ok
	case "Completed":
		ended, ok := timeAt(responder, "completionTime")
		return "Completed (" + at.since(ended) + " ago)", ok
	}
	return "", false
}

// evictionExpectedFinish renders "in 5m" for a started responder, or "5m ago" after the expected time.
func evictionExpectedFinish(eviction, _ []byte, at *Clock) (string, bool) {
	responder, state := shownResponder(eviction)
	if _, started := timeAt(responder, "startTime"); state != "Active" || !started {
		return "", false
	}
	finish, ok := timeAt(responder, "expectedCompletionTime")
	if finish.After(at.Now) {
		return "in " + at.till(finish), ok
	}
	return at.since(finish) + " ago", ok
}

// evictionHeartbeat renders the time since the last heartbeat of the responder, in any state.
func evictionHeartbeat(eviction, _ []byte, at *Clock) (string, bool) {
	responder, _ := shownResponder(eviction)
	beat, ok := timeAt(responder, "heartbeatTime")
	return at.since(beat) + " ago", ok
}

// shownResponder returns the responder in an Eviction's row and its state: the last active responder, or else the last
// finished one.
func shownResponder(eviction []byte) (responder []byte, state string) {
	var active, finished []byte
	for target := range scan.Elements(arrayAt(eviction, "status.targetResponders")) {
		switch textAt(target, "state") {
		case "Active":
			active = target
		case "Canceled", "Interrupted", "Completed":
			finished = target
		}
	}
	if active == nil {
		active = finished
	}
	for responder := range scan.Elements(arrayAt(eviction, "status.responders")) {
		if active != nil && textAt(responder, "name") == textAt(active, "name") {
			return responder, textAt(active, "state")
		}
	}
	return nil, ""
}
