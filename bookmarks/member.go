package bookmarks

import (
	"errors"
	"strings"

	"github.com/listfacade/listfacade/internal/wire/scan"
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
	var members []member
	s := scan.Scanner{Data: []byte(raw)}
	err := s.Object(func(key []byte) error {
		if _, twice := find(members, string(key)); twice {
			return malformed("key %q comes twice", key)
		}
		offset := s.Pos
		value, err := s.Skip()
		members = append(members, member{key: string(key), value: string(value), offset: offset})
		return err
	})
	var refused *MalformedError
	switch {
	case err == nil:
		return members, nil
	case errors.As(err, &refused):
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
