package bookmarks

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Learn makes a template from the object of one of the upstream's bookmarks, of either form. What surrounds metadata is
// kept as the upstream encoded it, white space aside; metadata itself is rebuilt in the object's style. An object with
// anything in metadata that a bookmark has not, like a name, is refused, so that no real object is ever replayed as a
// bookmark; so is one that the template would write differently. It fails with *MalformedError.
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
	seen, err := inspect(metadata.value)
	if err != nil {
		return nil, err
	}
	end := metadata.offset + len(metadata.value)
	p := parts{style: style, before: raw[:metadata.offset], after: raw[end:], between: seen.between, extra: seen.extra}
	t := p.template()
	if string(t.Append(nil, seen.rv, seen.kind)) != raw {
		return nil, malformed("metadata is written in another order or style than its kind's")
	}
	return t, nil
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

// learned is what a bookmark's metadata says.
type learned struct {
	rv      uint64
	kind    Kind
	between string   // the member that old servers add
	extra   []string // annotations but that of InitialEventsEnd
}

// inspect reads metadata, and refuses what no bookmark has.
func inspect(metadata string) (learned, error) {
	members, err := membersOf(metadata)
	if err != nil {
		return learned{}, err
	}
	var seen learned
	if m, ok := find(members, "resourceVersion"); ok {
		seen.rv, err = strconv.ParseUint(strings.Trim(m.value, `"`), 10, 64)
	}
	if seen.rv == 0 || err != nil {
		return learned{}, malformed("metadata.resourceVersion is no positive number")
	}
	for _, m := range members {
		text := quote(m.key) + ":" + m.value
		switch {
		case m.key == "resourceVersion":
		case m.key == "annotations":
			err = seen.annotated(m.value)
		case text == `"creationTimestamp":null`:
			seen.between = text
		default:
			err = malformed("metadata.%s: no bookmark has it", m.key)
		}
		if err != nil {
			return learned{}, err
		}
	}
	return seen, nil
}

// annotated tells the annotation that makes the form from those that the kind's conversion leaves on every empty
// object.
func (l *learned) annotated(value string) error {
	members, err := membersOf(value)
	if err != nil {
		return err
	}
	for _, m := range members {
		text := quote(m.key) + ":" + m.value
		switch {
		case text == endAnnotation:
			l.kind = InitialEventsEnd
		case m.key == endKey:
			return malformed("annotation %s is not true", m.key)
		case strings.HasPrefix(m.value, `"`):
			l.extra = append(l.extra, text)
		default:
			return malformed("annotation %s is no text", m.key)
		}
	}
	return nil
}

// isText reports whether a JSON value is a string that is not empty.
func isText(value string) bool {
	return len(value) > len(`""`) && value[0] == '"'
}
