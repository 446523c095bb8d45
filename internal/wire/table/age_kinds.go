package table

import (
	"github.com/listfacade/listfacade/internal/wire/scan"
)

// kindAges returns the cells with ages of a kind that is not a custom resource. The cells of the column Age count from
// the creation of the object. ageColumns returns the other columns with ages. The rules come from
// pkg/printers/internalversion in k8s.io/kubernetes 1.37. "Created At" is a date, not an age.
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
		// Rows of IPAddresses contain an age in a third cell, for which there is no column.
		cells = append(cells, staleCell{index: len(columns), render: since(created)})
	}
	return cells
}

// ageColumns returns the renderers of a kind's columns with ages by column name, except Age.
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

// eventLastSeen returns a renderer of the time since an event was last observed. If the event has a series, only the
// time of the series counts, even if this time is missing. Otherwise the first of the paths that is set counts.
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

// jobDuration renders how long a Job has been running. The duration of a completed Job is fixed. A failed Job has no
// completion time, and its duration keeps growing.
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

// poolRequestCompleted renders the time since a ResourcePoolStatusRequest completed: the time since the transition of
// its Complete condition. It returns false if a Failed condition precedes the Complete condition.
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
