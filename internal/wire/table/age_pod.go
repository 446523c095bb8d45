package table

import (
	"bytes"
	"time"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// podRestarts renders "3 (5m ago)". It copies the count, which does not depend on the time. A cell without a last
// restart contains only the count.
func podRestarts(object, cell []byte, at *Clock) (string, bool) {
	count, _, found := bytes.Cut(cell, []byte(" ("))
	if !found || len(count) < 2 || !bytes.HasSuffix(cell, []byte(` ago)"`)) {
		return "", false
	}
	last, ok := lastRestart(object)
	if !ok {
		return "", false
	}
	return string(count[1:]) + " (" + at.since(last) + " ago)", true
}

// lastRestart returns the time of the last restart that a pod's Restarts cell counts. While the pod initializes, the
// cell counts restarts of init containers up to the first unfinished one. Later it counts restarts of containers and
// sidecars (init containers with restartPolicy Always).
func lastRestart(pod []byte) (time.Time, bool) {
	var inits, counted time.Time
	podStatus, _ := scan.Lookup(pod, "status") // looked up once, because status is at the end of the object
	initializing := false
	for status := range scan.Elements(arrayAt(podStatus, "initContainerStatuses")) {
		sidecar := isSidecar(pod, textAt(status, "name"))
		ended := lastEnd(status)
		inits = later(inits, ended)
		if sidecar {
			counted = later(counted, ended)
		}
		if !initDone(status, sidecar) {
			initializing = true
			break
		}
	}
	if initializing && !podInitialized(podStatus) {
		return inits, !inits.IsZero()
	}
	for status := range scan.Elements(arrayAt(podStatus, "containerStatuses")) {
		counted = later(counted, lastEnd(status))
	}
	return counted, !counted.IsZero()
}

// initDone reports whether the next init container may start: this one has succeeded, or is a started sidecar.
func initDone(status []byte, sidecar bool) bool {
	if code, ok := scan.Lookup(status, "state.terminated.exitCode"); ok && string(code) == "0" {
		return true
	}
	started, _ := scan.Lookup(status, "started")
	return sidecar && string(started) == "true"
}

func isSidecar(pod []byte, name string) bool {
	for c := range scan.Elements(arrayAt(pod, "spec.initContainers")) {
		if textAt(c, "name") == name {
			return textAt(c, "restartPolicy") == "Always"
		}
	}
	return false
}

func podInitialized(podStatus []byte) bool {
	for condition := range scan.Elements(arrayAt(podStatus, "conditions")) {
		if textAt(condition, "type") == "Initialized" {
			return textAt(condition, "status") == "True"
		}
	}
	return false
}

func lastEnd(status []byte) time.Time {
	t, _ := timeAt(status, "lastState.terminated.finishedAt")
	return t
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
