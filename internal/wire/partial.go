package wire

// appendPartial appends an object's PartialObjectMetadata. Built-in objects have their metadata in the order of the Go type;
// custom resources have it sorted, and kube-apiserver passes it through the Go type (semantics 6.5).
func appendPartial(dst []byte, it Item, meta MetaVersion) []byte {
	dst = append(dst, `{"kind":"PartialObjectMetadata","apiVersion":"`...)
	dst = append(dst, meta...)
	dst = append(dst, `","metadata":`...)
	if it.rest > 0 {
		dst = append(dst, it.Metadata()...)
	} else {
		dst = metadataOrder.appendOrdered(dst, it.Metadata())
	}
	return append(dst, '}')
}

// order is the members of a Go type in the order in which it encodes them.
type order []field

type field struct {
	name     string
	elements order // of a list of structures: their order
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
	field{name: "ownerReferences", elements: plain("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")},
	field{name: "finalizers"},
	field{name: "managedFields", elements: plain("manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource")},
)

// appendOrdered appends an object with its members in this order; members that the type does not have are left out.
func (o order) appendOrdered(dst, object []byte) []byte {
	var values [16][]byte
	s := scanner{data: object}
	err := s.object(func(key []byte) error {
		value, err := s.skip()
		for i := range o {
			if o[i].name == string(key) {
				values[i] = value
			}
		}
		return err
	})
	if err != nil {
		panic("BUG: an object that was scanned before is malformed: " + err.Error())
	}
	dst = append(dst, '{')
	first := true
	for i, f := range o {
		if values[i] == nil {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, '"')
		dst = append(dst, f.name...)
		dst = append(dst, `":`...)
		dst = f.appendValue(dst, values[i])
	}
	return append(dst, '}')
}

func (f field) appendValue(dst, value []byte) []byte {
	if f.elements == nil || value[0] != '[' {
		return append(dst, value...)
	}
	s := scanner{data: value}
	dst = append(dst, '[')
	err := s.array(func(index int) error {
		element, err := s.skip()
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
		panic("BUG: a list that was scanned before is malformed: " + err.Error())
	}
	return append(dst, ']')
}
