package timeline

import (
	"reflect"
	"time"
)

// written is an entry of metadata.managedFields.
type written struct {
	owner
	at     time.Time
	fields any
}

type owner struct{ manager, operation, apiVersion, subresource string }

// writers reads metadata.managedFields. An element that is no JSON object becomes an empty entry.
func writers(fields any) []written {
	var all []written
	list, _ := fields.([]any)
	for _, element := range list {
		entry, _ := element.(tree)
		text := func(name string) string {
			value, _ := entry[name].(string)
			return value
		}
		at, _ := time.Parse(time.RFC3339, text("time")) // absent in some objects
		all = append(all, written{
			owner: owner{text("manager"), text("operation"), text("apiVersion"), text("subresource")}, at: at,
			fields: entry["fieldsV1"],
		})
	}
	return all
}

func (w *written) shown() Manager {
	return Manager{Name: w.manager, Operation: w.operation, Subresource: w.subresource, Time: w.at}
}

func (o *object) latest() []Manager {
	var found []Manager
	var last time.Time
	for i := range o.managers {
		if at := o.managers[i].at; at.After(last) {
			last, found = at, nil
		}
		if o.managers[i].at.Equal(last) {
			found = append(found, o.managers[i].shown())
		}
	}
	return found
}

// since returns the managers that wrote the changes from an earlier content to o. kube-apiserver sets the time of an
// entry, in seconds, when its manager writes. A second write within the same second changes only the fields. Fields may
// also be missing because another manager took them. Changed fields therefore count only if no time differs.
func (o *object) since(before *object) []Manager {
	earlier := map[owner]*written{}
	for i := range before.managers {
		earlier[before.managers[i].owner] = &before.managers[i]
	}
	var later, other []Manager
	for i := range o.managers {
		w := &o.managers[i]
		switch b := earlier[w.owner]; {
		case b == nil || !b.at.Equal(w.at):
			later = append(later, w.shown())
		case !reflect.DeepEqual(b.fields, w.fields):
			other = append(other, w.shown())
		}
	}
	if len(later) > 0 {
		return later
	}
	return other
}
