package jsonwire

import (
	"slices"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// appendWithout appends metadata without these annotations, and without any annotations if no other is left.
func appendWithout(dst, metadata []byte, annotations []string) []byte {
	return appendEdited(dst, metadata, func(key, value []byte) []byte {
		if string(key) != "annotations" || value[0] != '{' {
			return value
		}
		left := appendEdited(nil, value, func(key, value []byte) []byte {
			if slices.Contains(annotations, string(key)) {
				return nil
			}
			return value
		})
		if string(left) == "{}" {
			return nil
		}
		return left
	})
}

// appendEdited appends an object whose values went through edit; members that it makes nil are left out. Neither the
// keys of metadata nor those of annotations need escapes, so they are written as they were read.
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
		panic("BUG: metadata that was scanned before is malformed: " + err.Error())
	}
	if separator == '{' {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}
