package table

import (
	"strings"
)

const (
	// pathDescription begins the description that the apiextensions server gives to a column without a description.
	pathDescription = "Custom resource definition column (in JSONPath format): "
	// createdDescription is the description of metadata.creationTimestamp in metav1. The default Age column has this
	// description, and authors of definitions copy it.
	createdDescription = "CreationTimestamp is a timestamp representing the server time when this object was created."
)

// addDates adds a custom resource's columns of type "date". Each cell shows an age, null or <invalid>.
func (a *Ages) addDates(columns []Column, paths []string) {
	for i, column := range columns {
		if column.Type != "date" {
			continue
		}
		source := sourceOf(column)
		if i < len(paths) && paths[i] != "" {
			source = paths[i]
		}
		path, ok := parsePath(source)
		if !ok {
			a.frozen = append(a.frozen, column.Name)
			continue
		}
		a.cells = append(a.cells, staleCell{index: i, render: sinceFound(path)})
	}
}

// sourceOf returns the JSONPath of a column according to its description, or "" if it is unknown.
func sourceOf(column Column) string {
	if path, ok := strings.CutPrefix(column.Description, pathDescription); ok {
		return path
	}
	if strings.HasPrefix(column.Description, createdDescription) {
		return "." + created
	}
	return ""
}

// sinceFound returns a renderer of the time since the timestamp at path. The renderer leaves a cell that is not a
// string unchanged, because such a cell does not depend on the time.
func sinceFound(path jsonPath) renderer {
	return func(object, cell []byte, at *Clock) (string, bool) {
		if len(cell) == 0 || cell[0] != '"' {
			return "", false
		}
		raw, ok := path.find(object)
		if !ok {
			return "", false
		}
		then, ok := parseTime(raw)
		return at.since(then), ok
	}
}
