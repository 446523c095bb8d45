package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/listfacade/listfacade/internal/divergence"
)

// list is one page of a list.
type list struct {
	version, next string // resourceVersion of the list, and continue token of the next page
	objects       []divergence.Object
	bytes         int // total size of the objects
}

var readers = map[string]func([]byte) (list, error){"json": readJSON, "protobuf": readProtobuf}

func (l *list) add(namespace, name, version string, content []byte) {
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	l.bytes += len(content)
	l.objects = append(l.objects, divergence.Object{
		Key: key, Version: version, Append: func(dst []byte, _ string) []byte { return append(dst, content...) },
	})
}

func readJSON(body []byte) (list, error) {
	var page struct {
		Metadata struct{ ResourceVersion, Continue string }
		Items    []json.RawMessage
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return list{}, fmt.Errorf("decode list: %w", err)
	}
	l := list{version: page.Metadata.ResourceVersion, next: page.Metadata.Continue}
	for _, item := range page.Items {
		var object struct {
			Metadata struct{ Namespace, Name, ResourceVersion string }
		}
		if err := json.Unmarshal(item, &object); err != nil {
			return list{}, fmt.Errorf("decode object: %w", err)
		}
		l.add(object.Metadata.Namespace, object.Metadata.Name, object.Metadata.ResourceVersion, item)
	}
	return l, nil
}

const protobufMagic = "k8s\x00"

var errProtobuf = errors.New("response is not a protobuf list")

// readProtobuf reads a list of any kind, because all kinds have the same field numbers. In runtime.Unknown, field 2 is
// the list. In a list, field 1 is the metadata, and each field 2 is an object. In an object, field 1 is the metadata.
func readProtobuf(body []byte) (list, error) {
	envelope, ok := bytes.CutPrefix(body, []byte(protobufMagic))
	if !ok {
		return list{}, errProtobuf
	}
	var l list
	var failed error
	read := func(number protowire.Number, value []byte) {
		switch int(number) {
		case 1:
			failed = errors.Join(failed, fields(value, func(n protowire.Number, text []byte) {
				switch int(n) {
				case 2:
					l.version = string(text)
				case 3:
					l.next = string(text)
				}
			}))
		case 2:
			failed = errors.Join(failed, l.addProtobuf(value))
		}
	}
	err := fields(envelope, func(number protowire.Number, value []byte) {
		if number == 2 {
			failed = errors.Join(failed, fields(value, read))
		}
	})
	return l, errors.Join(err, failed)
}

func (l *list) addProtobuf(object []byte) error {
	var namespace, name, version string
	var failed error
	err := fields(object, func(number protowire.Number, meta []byte) {
		if number != 1 {
			return
		}
		failed = fields(meta, func(n protowire.Number, text []byte) {
			switch int(n) {
			case 1:
				name = string(text)
			case 3:
				namespace = string(text)
			case 6:
				version = string(text)
			}
		})
	})
	l.add(namespace, name, version, object)
	return errors.Join(err, failed)
}

// fields calls each(number, value) for the fields of a message that are strings, bytes or messages.
func fields(message []byte, each func(protowire.Number, []byte)) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errProtobuf
		}
		message = message[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
				return errProtobuf
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return errProtobuf
		}
		each(number, value)
		message = message[n:]
	}
	return nil
}
