package bookmarks

import (
	"bytes"
	"encoding/json"
)

// Learn makes a template from the object of one of the upstream's bookmarks, of either form. What surrounds metadata is
// kept as the upstream encoded it, white space aside; metadata itself is rebuilt in the object's style. An object with
// anything in metadata that a bookmark has not, like a name, is refused, so that no real object is ever replayed as a
// bookmark. It fails with *MalformedError.
func Learn(object []byte) (*Template, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, object); err != nil {
		return nil, &MalformedError{Reason: "invalid JSON", cause: err}
	}
	raw := compact.String()
	top, err := membersOf(raw)
	if err != nil {
		return nil, err
	}
	style, err := styleOf(top)
	if err != nil {
		return nil, err
	}
	metadata, ok := find(top, "metadata")
	if !ok {
		return nil, malformed("no metadata")
	}
	between, err := checkMetadata(metadata.value)
	if err != nil {
		return nil, err
	}
	end := metadata.offset + len(metadata.value)
	return newTemplate(style, raw[:metadata.offset], raw[end:], between), nil
}

// styleOf tells the style by the first key, and checks the type meta.
func styleOf(top []member) (Style, error) {
	for _, key := range []string{"kind", "apiVersion"} {
		m, ok := find(top, key)
		if !ok || !isText(m.value) {
			return Builtin, malformed("%s is missing or no text", key)
		}
	}
	switch top[0].key {
	case "kind":
		return Builtin, nil
	case "apiVersion":
		return Custom, nil
	default:
		return Builtin, malformed("%q comes before the type meta", top[0].key)
	}
}

// checkMetadata refuses what no bookmark has, and returns the member that old servers add.
func checkMetadata(value string) (between string, err error) {
	members, err := membersOf(value)
	if err != nil {
		return "", err
	}
	if m, ok := find(members, "resourceVersion"); !ok || !isText(m.value) {
		return "", malformed("metadata.resourceVersion is missing or no text")
	}
	for _, m := range members {
		text := quote(m.key) + ":" + m.value
		switch {
		case m.key == "resourceVersion", text == annotations:
		case text == `"creationTimestamp":null`:
			between = text
		default:
			return "", malformed("metadata.%s: no bookmark has it", m.key)
		}
	}
	return between, nil
}

// isText reports whether a JSON value is a string that is not empty.
func isText(value string) bool {
	return len(value) > len(`""`) && value[0] == '"'
}
