package table

import (
	"github.com/listfacade/listfacade/internal/wire/scan"
)

// kindAges returns the stale cells of a kind that kube-apiserver or an aggregated server prints. An Age column counts
// from the object's creation wherever there is one; the rest is listed in ageColumns. The rules are those of
// k8s.io/kubernetes 1.37, pkg/printers/internalversion; "Created At" (kinds without a printer, and
// CustomResourceDefinitions) is a plain date and does not go stale.
func kindAges(group, resource string, columns []Column) []staleCell {
	special := ageColumns(group, resource)
	var cells []staleCell
	aged := false
	for i, column := range columns {
		render := special[column.Name]
		if column.Name == "Age" {
			render, aged = since(created), true
		}
		if render != nil {
			cells = append(cells, staleCell{index: i, render: render})
		}
	}
	if group == "networking.k8s.io" && resource == "ipaddresses" && !aged {
		// IPAddresses print an age in a third cell that no column declares.
		cells = append(cells, staleCell{index: len(columns), render: since(created)})
	}
	return cells
}

// ageColumns returns how the stale columns of a kind are rendered, by name, except Age.
func ageColumns(group, resource string) map[string]renderer {
	switch group + "/" + resource {
	case "/pods":
		return map[string]renderer{"Restarts": podRestarts}
	case "/events":
		return map[string]renderer{
			"Last Seen":  eventLastSeen("lastTimestamp", "firstTimestamp", "eventTime"),
			"First Seen": since("firstTimestamp", "eventTime"),
		}
	case "events.k8s.io/events":
		return map[string]renderer{
			"Last Seen":  eventLastSeen("deprecatedLastTimestamp", "deprecatedFirstTimestamp", "eventTime"),
			"First Seen": since("deprecatedFirstTimestamp", "eventTime"),
		}
	case "batch/jobs":
		return map[string]renderer{"Duration": jobDuration}
	case "batch/cronjobs":
		return map[string]renderer{"Last Schedule": since("status.lastScheduleTime")}
	case "resource.k8s.io/devicetaintrules":
		return map[string]renderer{"TimeAdded": since("spec.taint.timeAdded")}
	case "resource.k8s.io/resourcepoolstatusrequests":
		return map[string]renderer{"Completed": poolRequestCompleted}
	case "lifecycle.k8s.io/evictions":
		return map[string]renderer{
			"Responder Status":          evictionResponderStatus,
			"Responder Expected Finish": evictionExpectedFinish,
			"Responder Heartbeat":       evictionHeartbeat,
		}
	}
	return nil
}

// eventLastSeen renders when an event was last observed: its series decides when it has one, even one that does not
// say when, else the first of paths that is set.
func eventLastSeen(paths ...string) renderer {
	single := since(paths...)
	series := since("series.lastObservedTime")
	return func(object, cell []byte, at *Clock) (string, bool) {
		if raw, ok := scan.Lookup(object, "series"); ok && string(raw) != "null" {
			return series(object, cell, at)
		}
		return single(object, cell, at)
	}
}

// jobDuration renders how long a Job has been running. Once it has completed the duration is fixed; a failed Job has
// no completion time, its duration grows on.
func jobDuration(object, _ []byte, at *Clock) (string, bool) {
	if _, ok := timeAt(object, "status.completionTime"); ok {
		return "", false
	}
	started, ok := timeAt(object, "status.startTime")
	if !ok {
		return "", false
	}
	return at.since(started), true
}

// poolRequestCompleted renders when a ResourcePoolStatusRequest became complete: the transition time of its Complete
// condition, unless a Failed one stands before it.
func poolRequestCompleted(object, _ []byte, at *Clock) (string, bool) {
	for condition := range scan.Elements(arrayAt(object, "status.conditions")) {
		if textAt(condition, "status") != "True" {
			continue
		}
		switch textAt(condition, "type") {
		case "Failed":
			return "", false
		case "Complete":
			completed, ok := timeAt(condition, "lastTransitionTime")
			return at.since(completed), ok
		}
	}
	return "", false
}
