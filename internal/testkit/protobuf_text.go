package testkit

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// readable returns two bodies as text for a failure message. It shows protobuf bodies as decoded objects or, if these
// are equal, as their fields.
func readable(want, got []byte) (wantText, gotText []byte) {
	if !inProtobuf(want) && !inProtobuf(got) {
		return want, got
	}
	wantText, gotText = asObject(want), asObject(got)
	if bytes.Equal(wantText, gotText) {
		return asFields(want), asFields(got)
	}
	return wantText, gotText
}

func inProtobuf(body []byte) bool { return isEnvelope(body) || isProtobufFrame(body) }

// asObject returns a protobuf body as JSON or, if it cannot be decoded, as fields.
func asObject(body []byte) []byte {
	text, err := []byte(nil), error(nil)
	switch {
	case isEnvelope(body):
		text, err = decoded(body)
	case isProtobufFrame(body):
		text, err = decodedFrame(body)
	default:
		return body
	}
	if err != nil {
		return asFields(body)
	}
	return text
}

// asFields returns a protobuf body as text: every field with its number. It shows bytes as a message if they are a
// valid message and not text.
func asFields(body []byte) []byte {
	if !inProtobuf(body) {
		return body
	}
	var b strings.Builder
	if isEnvelope(body) {
		b.WriteString("k8s ")
		body = body[len(envelopeMagic):]
	}
	writeFields(&b, body)
	return []byte(b.String())
}

func writeFields(b *strings.Builder, message []byte) {
	b.WriteString("{")
	for rest := message; len(rest) > 0; {
		number, kind, tag := protowire.ConsumeTag(rest)
		size := -1
		if tag > 0 {
			size = protowire.ConsumeFieldValue(number, kind, rest[tag:])
		}
		if size < 0 {
			fmt.Fprintf(b, "no field: %x", rest)
			break
		}
		fmt.Fprintf(b, "%d:", number)
		writeValue(b, kind, rest[tag:tag+size])
		rest = rest[tag+size:]
	}
	b.WriteString("} ")
}

func writeValue(b *strings.Builder, kind protowire.Type, value []byte) {
	if kind != protowire.BytesType {
		fmt.Fprintf(b, "%x ", value)
		return
	}
	content, _ := protowire.ConsumeBytes(value)
	switch {
	case isEnvelope(content):
		b.Write(asFields(content))
	case isText(content):
		fmt.Fprintf(b, "%q ", content)
	case isMessage(content):
		writeFields(b, content)
	default:
		fmt.Fprintf(b, "%x ", content)
	}
}

// isText reports whether bytes are text. Tags of the first fields are ASCII control characters, so most messages are
// not text.
func isText(content []byte) bool {
	isControl := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }
	return utf8.Valid(content) && bytes.IndexFunc(content, isControl) < 0 && (len(content) == 0 || content[0] >= ' ')
}

func isMessage(content []byte) bool {
	for len(content) > 0 {
		_, _, size := protowire.ConsumeField(content)
		if size < 0 {
			return false
		}
		content = content[size:]
	}
	return true
}
