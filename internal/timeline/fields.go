package timeline

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// identifying are the members that identify an element in a list of objects, as the API documents them for its lists.
var identifying = []string{
	"name", "type", "key", "uid", "ip", "containerPort", "port", "topologyKey", "mountPath", "devicePath",
}

// differences returns the fields that differ, sorted by path, with fields of the status last.
func differences(before, after tree) []Field {
	var found []Field
	compareTrees("", before, after, func(f Field) { found = append(found, f) })
	slices.SortStableFunc(found, func(a, b Field) int { return rank(a.Path) - rank(b.Path) })
	return found
}

// rank returns 1 for the fields of the status and 0 for other fields. The status comes last, because it is usually a
// consequence of the other fields.
func rank(path string) int {
	if path == "status" || strings.HasPrefix(path, "status.") {
		return 1
	}
	return 0
}

func compareTrees(path string, before, after tree, report func(Field)) {
	names := slices.Collect(maps.Keys(before))
	for name := range after {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		compareValues(join(path, name), before[name], after[name], report)
	}
}

// join appends the name of a member to a path. Names with dots, such as label keys, are in brackets.
func join(path, name string) string {
	switch {
	case strings.ContainsAny(name, ".[]"):
		return path + "[" + name + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// compareValues calls report for each difference of two values. It compares the parts of objects and of lists of
// objects.
func compareValues(path string, before, after any, report func(Field)) {
	switch b := before.(type) {
	case tree:
		if a, ok := after.(tree); ok {
			compareTrees(path, b, a, report)
			return
		}
	case []any:
		if a, ok := after.([]any); ok && areObjects(b) && areObjects(a) {
			compareLists(path, b, a, report)
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		report(Field{Path: path, Before: before, After: after})
	}
}

func areObjects(list []any) bool {
	for _, element := range list {
		if _, ok := element.(tree); !ok {
			return false
		}
	}
	return len(list) > 0
}

// compareLists compares the elements of two lists by their keys, or else by their positions. It reports a different
// order only if nothing else differs, because elements are often inserted in the middle.
func compareLists(path string, before, after []any, report func(Field)) {
	b, a := positions(before), positions(after)
	for _, member := range identifying {
		keysBefore, ok := keyed(before, member)
		if !ok {
			continue
		}
		if keysAfter, ok := keyed(after, member); ok {
			b, a = keysBefore, keysAfter
			break
		}
	}
	same := true
	found := func(f Field) {
		same = false
		report(f)
	}
	for _, key := range b.order {
		compareValues(path+"["+key+"]", b.elements[key], a.elements[key], found)
	}
	for _, key := range a.order {
		if _, ok := b.elements[key]; !ok {
			found(Field{Path: path + "[" + key + "]", After: a.elements[key]})
		}
	}
	if same && !slices.Equal(b.order, a.order) {
		report(Field{Path: path + " (order)", Before: b.order, After: a.order})
	}
}

type elements struct {
	order    []string
	elements map[string]any
}

func positions(list []any) elements {
	e := elements{elements: map[string]any{}}
	for i, element := range list {
		e.add(strconv.Itoa(i), element)
	}
	return e
}

// keyed returns the elements by the value of a member. It returns false if the values do not identify the elements.
func keyed(list []any, member string) (elements, bool) {
	e := elements{elements: map[string]any{}}
	for _, element := range list {
		var key string
		switch value := element.(tree)[member].(type) {
		case string:
			key = value
		case json.Number:
			key = value.String()
		}
		if _, double := e.elements[key]; key == "" || double {
			return elements{}, false
		}
		e.add(key, element)
	}
	return e, true
}

func (e *elements) add(key string, element any) {
	e.order = append(e.order, key)
	e.elements[key] = element
}
