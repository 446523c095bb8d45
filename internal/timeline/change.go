package timeline

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Type is the type of an entry.
type Type string

// The types of entries.
const (
	Existed  Type = "existed"  // the object existed before the period; only in logs
	Created  Type = "created"  // the object did not exist before
	Changed  Type = "changed"  // fields differ
	Replaced Type = "replaced" // the object was deleted, and another object with its name was created
	Deleted  Type = "deleted"  // the object no longer exists
	Lost     Type = "hole"     // events of the resource may be missing in the journal
)

// Entry is a line of a diff or a log: a change of an object, or a hole in the journal.
type Entry struct {
	Type Type `json:"type"`
	// Time is when the facade received the last event of the change; absent if the journal does not contain the event.
	// For a hole, it is the end of the hole. For an object that existed, it is the beginning of the period or of the
	// journal, whichever is later.
	Time time.Time `json:"time,omitzero"`
	// Since is the beginning of a hole.
	Since time.Time `json:"since,omitzero"`
	// Version is the resourceVersion of the event, or of the end of a hole.
	Version uint64 `json:"resourceVersion,omitempty,string"`

	Resource  Resource `json:"resource"`
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name,omitempty"`
	UID       string   `json:"uid,omitempty"`
	// Managers are the managers that made the change, according to managedFields. Deletions have none.
	Managers []Manager `json:"managers,omitempty"`
	// Fields are the fields that differ, with fields of the status last.
	Fields []Field `json:"fields,omitempty"`
	// Note is a remark in words, for example that the object changed in a hole.
	Note string `json:"note,omitempty"`

	before, after tree
}

// Resource names a resource as the API server does.
type Resource struct {
	Group    string `json:"group,omitempty"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

func resourceOf(gvr schema.GroupVersionResource) Resource {
	return Resource{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource}
}

// String returns the resource with its group: deployments.apps.
func (r Resource) String() string {
	return schema.GroupResource{Group: r.Group, Resource: r.Resource}.String()
}

// Field is a field that differs. A nil value means that the field is absent.
type Field struct {
	Path   string `json:"path"`
	Before any    `json:"before,omitempty"`
	After  any    `json:"after,omitempty"`
}

// Manager is a client that wrote fields of an object, with the name that the client gave itself.
type Manager struct {
	Name        string    `json:"manager"`
	Operation   string    `json:"operation,omitempty"`
	Subresource string    `json:"subresource,omitempty"`
	Time        time.Time `json:"time,omitzero"`
}

// compare returns the entry for the change of an object from one content to another. One of them can be nil, if the
// object did not exist. compare returns false if the object did not change.
func compare(before, after *object) (Entry, bool) {
	var e Entry
	switch {
	case before == nil:
		e = Entry{Type: Created, UID: after.uid, Managers: after.latest()}
	case after == nil:
		return Entry{Type: Deleted, UID: before.uid, before: before.content}, true
	case before.uid != after.uid:
		e = Entry{Type: Replaced, UID: after.uid, before: before.content, Managers: after.latest()}
		e.Fields = differences(before.content, after.content)
	default:
		e = Entry{Type: Changed, UID: after.uid, before: before.content, Fields: differences(before.content, after.content)}
		e.Managers = after.since(before)
	}
	e.after = after.content
	if after.partial {
		e.Note = "recorded in protobuf only: the fields of this kind are unknown"
	}
	return e, e.Type != Changed || after.partial || len(e.Fields) > 0
}
