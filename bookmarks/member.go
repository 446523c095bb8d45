package bookmarks

import (
	"errors"
	"strings"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// member is one key of a JSON object with its encoded value.
type member struct {
	key    string
	value  string
	offset int // position of value in the object's text
}

// membersOf returns the members of a JSON object in order. The argument raw must be valid, compact JSON. membersOf
// rejects duplicate keys, because JSON parsers disagree about which value counts.
func membersOf(raw string) ([]member, error) {
	if !strings.HasPrefix(raw, "{") {
		return nil, malformed("got %.20q, want a JSON object", raw)
	}
	var members []member
	s := scan.Scanner{Data: []byte(raw)}
	err := s.Object(func(key []byte) error {
		if _, twice := find(members, string(key)); twice {
			return malformed("duplicate key %q", key)
		}
		offset := s.Pos
		value, err := s.Skip()
		members = append(members, member{key: string(key), value: string(value), offset: offset})
		return err
	})
	var rejected *MalformedError
	switch {
	case err == nil:
		return members, nil
	case errors.As(err, &rejected):
		return nil, err
	default:
		return nil, &MalformedError{Reason: "invalid JSON", cause: err}
	}
}

func find(members []member, key string) (member, bool) {
	for _, m := range members {
		if m.key == key {
			return m, true
		}
	}
	return member{}, false
}
