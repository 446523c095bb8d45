package bookmarks

import (
	"encoding/json"
	"strings"
)

// member is one key of a JSON object with its value as encoded.
type member struct {
	key    string
	value  string
	offset int // of value in the object's text
}

// membersOf lists the members of a JSON object in their order. raw is valid, compact JSON. A key that comes twice is
// refused, because readers disagree about which one counts.
func membersOf(raw string) ([]member, error) {
	if !strings.HasPrefix(raw, "{") {
		return nil, malformed("%.20q where an object should be", raw)
	}
	decoder := json.NewDecoder(strings.NewReader(raw))
	if _, err := decoder.Token(); err != nil {
		return nil, &MalformedError{Reason: "invalid JSON", cause: err}
	}
	var members []member
	for decoder.More() {
		m, err := nextMember(decoder)
		if err != nil {
			return nil, &MalformedError{Reason: "invalid JSON", cause: err}
		}
		if _, twice := find(members, m.key); twice {
			return nil, malformed("key %q comes twice", m.key)
		}
		members = append(members, m)
	}
	return members, nil
}

func nextMember(decoder *json.Decoder) (member, error) {
	token, err := decoder.Token()
	if err != nil {
		return member{}, err
	}
	key, _ := token.(string) // raw is valid JSON, whose keys are strings
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return member{}, err
	}
	end := int(decoder.InputOffset())
	return member{key: key, value: string(value), offset: end - len(value)}, nil
}

func find(members []member, key string) (member, bool) {
	for _, m := range members {
		if m.key == key {
			return m, true
		}
	}
	return member{}, false
}
