package assess

import "bytes"

// shape contains the properties of a request and of its caller that affect the cost, without names.
type shape struct {
	scope        scope
	selects      selection
	mode         mode
	initial      bool // a watch that begins with all objects
	certificate  bool
	impersonates bool
	limit        int32 // maximum number of objects in a response; 0 means all
}

type scope uint8

const (
	everything scope = iota
	oneNamespace
	oneObject
)

type selection uint8

const (
	selectsAll  selection = iota
	selectsSome           // labels, or fields other than those of the next two values
	selectsNode           // pods of one node
	selectsName           // one object
)

type mode uint8

const (
	consistent mode = iota // no resourceVersion
	fromCache              // resourceVersion 0, or not older than a resourceVersion
	exact
)

func (s *shape) read(uri []byte) {
	_, query, _ := bytes.Cut(uri, []byte{'?'})
	version, match := []byte(nil), []byte(nil)
	for len(query) > 0 {
		var one []byte
		one, query, _ = bytes.Cut(query, []byte{'&'})
		name, value, _ := bytes.Cut(one, []byte{'='})
		switch string(name) {
		case "limit":
			s.limit = int32(min(digits(value), 1<<30))
		case "continue":
			version = value
			if len(value) > 0 {
				match = []byte("Exact")
			}
		case "resourceVersion":
			version = value
		case "resourceVersionMatch":
			match = value
		case "labelSelector":
			if len(value) > 0 && s.selects == selectsAll {
				s.selects = selectsSome
			}
		case "fieldSelector":
			s.field(value)
		case "sendInitialEvents":
			s.initial = string(value) == "true" || string(value) == "1"
		}
	}
	switch {
	case len(version) == 0:
	case string(match) == "Exact":
		s.mode = exact
	default:
		s.mode = fromCache
	}
	s.initial = s.initial || len(version) == 0 || string(version) == "0" // such a watch needs no sendInitialEvents
}

// field adds a field selector. Most clients escape its equality signs.
func (s *shape) field(value []byte) {
	name := value
	if end := bytes.IndexAny(value, "%=!"); end >= 0 {
		name = value[:end]
	}
	negated := bytes.HasPrefix(value[len(name):], []byte("!")) || bytes.HasPrefix(value[len(name):], []byte("%21"))
	switch {
	case len(value) == 0:
	case negated:
		s.selects = max(s.selects, selectsSome)
	case string(name) == "metadata.name":
		s.selects = selectsName
	case string(name) == "spec.nodeName":
		s.selects = max(s.selects, selectsNode)
	default:
		s.selects = max(s.selects, selectsSome)
	}
}

func digits(text []byte) (n int) {
	for _, c := range text {
		if c < '0' || c > '9' || n > 1<<30 {
			return n
		}
		n = 10*n + int(c-'0')
	}
	return n
}
