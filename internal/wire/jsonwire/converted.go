package jsonwire

import (
	"slices"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// appendWithout appends metadata without the given annotations. It omits the member annotations if no annotation
// remains.
func appendWithout(dst, metadata []byte, annotations []string) []byte {
	return appendEdited(dst, metadata, func(key, value []byte) []byte {
		if string(key) != "annotations" || value[0] != '{' {
			return value
		}
		rest := appendEdited(nil, value, func(key, value []byte) []byte {
			if slices.Contains(annotations, string(key)) {
				return nil
			}
			return value
		})
		if string(rest) == "{}" {
			return nil
		}
		return rest
	})
}

// appendEdited appends an object with the values that edit returns. It omits members for which edit returns nil. It
// does not escape keys, because keys of metadata and annotations need no escapes.
func appendEdited(dst, object []byte, edit func(key, value []byte) []byte) []byte {
	s, separator := scan.Scanner{Data: object}, byte('{')
	err := s.Object(func(key []byte) error {
		value, err := s.Skip()
		if err != nil {
			return err
		}
		if value = edit(key, value); value == nil {
			return nil
		}
		dst = append(append(dst, separator, '"'), key...)
		dst, separator = append(append(dst, `":`...), value...), ','
		return nil
	})
	if err != nil {
		panic("BUG: read metadata again: " + err.Error())
	}
	if separator == '{' {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}
