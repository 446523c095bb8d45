package jsonwire

import (
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
	"github.com/listfacade/listfacade/internal/wire/scan"
)

// appendPartial appends an object's PartialObjectMetadata, with metadata in the order of the Go type (semantics 6.5).
// In built-in objects, metadata already has this order. In custom resources, the members of metadata are sorted.
func (s *Shape) appendPartial(dst []byte, open *item.Opened, meta wire.MetaVersion) []byte {
	dst = append(dst, `{"kind":"PartialObjectMetadata","apiVersion":"`...)
	dst = append(dst, meta...)
	dst = append(dst, `","metadata":`...)
	marks := open.Marks()
	metadata := open.Data()[marks.Metadata.Start:marks.Metadata.End]
	switch {
	case marks.Rest == 0:
		dst = metadataOrder.appendOrdered(dst, metadata)
	case len(s.converted) > 0:
		dst = appendWithout(dst, metadata, s.converted)
	default:
		dst = append(dst, metadata...)
	}
	return append(dst, '}')
}

// order lists the members of a Go type in the order of encoding. It has at most maxOrder members.
type order []field

const maxOrder = 15

type field struct {
	name     string
	elements order // for a list of structures: the order of their members
}

func plain(names ...string) order {
	fields := make(order, len(names))
	for i, name := range names {
		fields[i].name = name
	}
	return fields
}

var metadataOrder = append(plain(
	"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
	"deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations"),
	field{name: "ownerReferences",
		elements: plain("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")},
	field{name: "finalizers"},
	field{name: "managedFields", elements: plain("manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1",
		"subresource")},
)

// appendOrdered appends an object with its members in the order o. It omits nulls and unknown members.
func (o order) appendOrdered(dst, object []byte) []byte {
	s := scan.Scanner{Data: object}
	if s.Peek() != '{' {
		return append(dst, object...)
	}
	var values [maxOrder][]byte
	err := s.Object(func(key []byte) error {
		value, err := s.Skip()
		if i := o.index(key); i >= 0 {
			values[i] = value
		}
		return err
	})
	if err != nil {
		panic("BUG: read object again: " + err.Error())
	}
	separator := byte('{')
	for i, f := range o {
		if values[i] == nil || values[i][0] == 'n' {
			continue
		}
		dst = append(dst, separator, '"')
		dst = append(dst, f.name...)
		dst = append(dst, `":`...)
		dst = f.appendValue(dst, values[i])
		separator = ','
	}
	if separator == '{' {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

func (o order) index(key []byte) int {
	for i := range o {
		if o[i].name == string(key) {
			return i
		}
	}
	return -1
}

func (f field) appendValue(dst, value []byte) []byte {
	if f.elements == nil || value[0] != '[' {
		return append(dst, value...)
	}
	s := scan.Scanner{Data: value}
	dst = append(dst, '[')
	err := s.Array(func(index int) error {
		element, err := s.Skip()
		if err != nil {
			return err
		}
		if index > 0 {
			dst = append(dst, ',')
		}
		dst = f.elements.appendOrdered(dst, element)
		return nil
	})
	if err != nil {
		panic("BUG: read list again: " + err.Error())
	}
	return append(dst, ']')
}
