package table

import (
	"strings"
)

// What the apiextensions server writes into the description of a column whose definition has none, and what metav1
// documents of metadata.creationTimestamp, which is the description of the default Age column and the one that authors
// of definitions copy.
const (
	pathDescription    = "Custom resource definition column (in JSONPath format): "
	createdDescription = "CreationTimestamp is a timestamp representing the server time when this object was created."
)

// addDates adds the columns of type "date" of a custom resource: each prints an age, null or <invalid>.
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

// sourceOf tells from a column's description which JSONPath it prints, "" when it does not say.
func sourceOf(column Column) string {
	if path, ok := strings.CutPrefix(column.Description, pathDescription); ok {
		return path
	}
	if strings.HasPrefix(column.Description, createdDescription) {
		return "." + created
	}
	return ""
}

// sinceFound renders the time passed since the timestamp that path finds. A cell that is not a string was null for a
// reason that time does not change.
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
