package bookmarks

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Learn makes a template from a bookmark object of the upstream, of either kind. It keeps everything except metadata as
// the upstream encoded it, without white space. It encodes metadata again, with the keys in the object's order (Style).
//
// It returns *MalformedError for an object whose metadata has fields that a bookmark lacks, such as a name. A real
// object therefore never becomes a bookmark. It also returns *MalformedError if the template would not reproduce the
// object.
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
		return nil, malformed("metadata is missing")
	}
	seen, err := inspect(metadata.value)
	if err != nil {
		return nil, err
	}
	end := metadata.offset + len(metadata.value)
	p := parts{style: style, before: raw[:metadata.offset], after: raw[end:], between: seen.between, extra: seen.extra}
	t := p.template()
	if string(t.Append(nil, seen.rv, seen.kind)) != raw {
		return nil, malformed("unexpected order or style of metadata")
	}
	return t, nil
}

// styleOf derives the style from the first key. It rejects an object without kind or apiVersion.
func styleOf(top []member) (Style, error) {
	for _, key := range []string{"kind", "apiVersion"} {
		m, ok := find(top, key)
		if !ok || !isText(m.value) {
			return Builtin, malformed("%s is missing, empty or not a string", key)
		}
	}
	switch top[0].key {
	case "kind":
		return Builtin, nil
	case "apiVersion":
		return Custom, nil
	default:
		return Builtin, malformed("unexpected key %q before kind and apiVersion", top[0].key)
	}
}

type learned struct {
	rv      uint64
	kind    Kind
	between string   // the member that old servers add (parts.between)
	extra   []string // annotations other than endKey
}

// inspect reads metadata and rejects members that no bookmark has.
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
		return learned{}, malformed("metadata.resourceVersion is not a positive number")
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
			err = malformed("unexpected metadata.%s", m.key)
		}
		if err != nil {
			return learned{}, err
		}
	}
	return seen, nil
}

// annotated reads the annotations. Annotations other than endAnnotation come from the kind's conversion, which adds
// them to every empty object.
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
			return malformed("annotation %s has value %.20q, want \"true\"", m.key, m.value)
		case strings.HasPrefix(m.value, `"`):
			l.extra = append(l.extra, text)
		default:
			return malformed("annotation %s is not a string", m.key)
		}
	}
	return nil
}

func isText(value string) bool {
	return len(value) > len(`""`) && value[0] == '"'
}
