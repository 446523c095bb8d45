package transcode

import (
	_ "embed" // for messages.txt
	"fmt"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go test . -run TestTableMatchesGoTypes -update

// text is the table. A line without a space at its start begins a message. The lines after it that begin with a space
// are the message's fields in the order of their JSON, with name, number, type and flags.
//
//go:embed messages.txt
var text string

// message is the type of an object or of a part of an object. Its fields are in the order of their JSON.
type message struct {
	fields []field
}

type field struct {
	name   string // name in JSON; empty if JSON inlines the nested message
	number int32
	of     kind
	nested *message // for kind nested
	flags
}

// flags say whether a field is a list or a map, and how JSON represents an absent field.
type flags struct {
	list, keyed bool
	optional    bool // JSON omits empty values
	pointer     bool // an absent value differs from an empty one
}

type kind string

// The kinds of values, as named in the table. All other kinds are names of messages.
const (
	str      kind = "string"
	boolean  kind = "bool"
	integer  kind = "int"
	binary   kind = "bytes"
	moment   kind = "time"
	micro    kind = "micro"
	duration kind = "duration"
	quantity kind = "quantity"
	either   kind = "intorstring"
	document kind = "json" // a JSON document in bytes
	texts    kind = "strings"
	nested   kind = "nested"
)

var scalars = map[kind]bool{
	str: true, boolean: true, integer: true, binary: true, moment: true, micro: true, duration: true, quantity: true,
	either: true, document: true, texts: true,
}

type table struct {
	kinds    map[schema.GroupVersionKind]*message
	messages map[string]*message
}

var parsed = sync.OnceValue(func() *table {
	t, err := parse(text)
	if err != nil {
		panic("BUG: messages.txt: " + err.Error())
	}
	return t
})

func parse(text string) (*table, error) {
	t := &table{kinds: map[schema.GroupVersionKind]*message{}, messages: map[string]*message{}}
	var current *message
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, " ") && current != nil && len(words) >= 3:
			f, err := t.field(words)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			current.fields = append(current.fields, f)
		case len(words) == 1:
			current = t.message(words[0])
		case len(words) == 2: // a message that is also an object of a kind
			current = t.message(words[0])
			gvk := strings.Split(words[1], ",")
			if len(gvk) != 3 {
				return nil, fmt.Errorf("%q: want group,version,kind", line)
			}
			t.kinds[schema.GroupVersionKind{Group: gvk[0], Version: gvk[1], Kind: gvk[2]}] = current
		default:
			return nil, fmt.Errorf("invalid line %q", line)
		}
	}
	return t, nil
}

// message returns the message with a name. Its fields can be missing until parse has read them.
func (t *table) message(name string) *message {
	if t.messages[name] == nil {
		t.messages[name] = &message{}
	}
	return t.messages[name]
}

func (t *table) field(words []string) (field, error) {
	number, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil {
		return field{}, err
	}
	f := field{name: words[0], number: int32(number), of: kind(words[2])}
	if f.name == "-" {
		f.name = ""
	}
	if !scalars[f.of] {
		f.of, f.nested = nested, t.message(words[2])
	}
	for _, flag := range words[3:] {
		switch flag {
		case "list":
			f.list = true
		case "map":
			f.keyed = true
		case "optional":
			f.optional = true
		case "pointer":
			f.pointer = true
		default:
			return field{}, fmt.Errorf("unknown flag %q", flag)
		}
	}
	return f, nil
}
