package testkit

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Subject is a resource that a grammar asks about.
type Subject struct {
	Root     string // the path of its group and version
	Resource string
	Objects  []Object // some that exist, at least one
}

// Object is where an object is; Namespace is empty for one of the cluster.
type Object struct{ Namespace, Name string }

// Grammar makes questions at random, most of them good, some wrong in one way or in several. The same seed and subjects
// make the same questions: what depends on the cluster's state stands in them as a blank, for Oracle.Fill.
//
// It makes no question that docs/divergences.md answers: no methods that some server has an answer of its own for, no
// connections into containers, no watches that are over before they begin or that begin before the facade did.
type Grammar struct {
	random   *rand.Rand
	subjects []Subject
}

// NewGrammar makes a grammar of at least one subject.
func NewGrammar(seed uint64, subjects []Subject) *Grammar {
	return &Grammar{random: rand.New(rand.NewPCG(seed, 0)), subjects: subjects} //nolint:gosec // questions are no secret
}

// Question makes the next question.
func (g *Grammar) Question() Question {
	subject := g.subjects[g.random.IntN(len(g.subjects))]
	q := Question{Header: g.header(readHeaders)}
	switch n := g.random.IntN(100); {
	case n < 12:
		q = g.watch(subject)
	case n < 20:
		q.Path = g.choose(documents) + "?" + g.query(getParameters)
	case n < 28:
		q.Path = g.choose(lostPaths) + "?" + g.query(listParameters)
	case n < 50:
		q.Path = g.object(subject) + "?" + g.query(getParameters)
	default:
		q.Path = g.collection(subject, subject.Root) + "?" + g.query(g.with(subject, listParameters))
	}
	switch g.random.IntN(50) {
	case 0, 1:
		q.Method = http.MethodHead
	case 2:
		return g.noRead(subject)
	}
	return q
}

// noRead is a question with a method that no server has for the path. Custom resources and documents are left out: what
// they say is a difference that docs/divergences.md lists.
func (g *Grammar) noRead(subject Subject) Question {
	q := Question{Method: http.MethodOptions, Header: g.header(readHeaders)}
	if strings.HasPrefix(subject.Root, "/apis/ex.io/") {
		q.Path = "/api/v1/configmaps"
		return q
	}
	object := subject.Objects[0]
	path := subject.Root
	if object.Namespace != "" {
		path += "/namespaces/" + object.Namespace
	}
	if path += "/" + subject.Resource; g.random.IntN(2) == 0 {
		q.Method = g.choose([]string{http.MethodOptions, http.MethodPut, http.MethodPatch})
	} else {
		q.Method = g.choose([]string{http.MethodOptions, http.MethodPost})
		path += "/" + object.Name
	}
	q.Path = path + "?" + g.query(getParameters)
	return q
}

// with is the parameters with field selectors of the subject's own kind.
func (g *Grammar) with(subject Subject, parameters []parameter) []parameter {
	fields := kindFields[subject.Resource]
	if len(fields) == 0 || g.random.IntN(2) == 0 {
		return parameters
	}
	own := slices.Clone(parameters)
	for i := range own {
		if own[i].name == byFields.name {
			own[i] = parameter{byFields.name, 60, choices{good: fields}}
		}
	}
	return own
}

// watch is a question for the events of a second, in one of ten cases at the deprecated path, which needs no parameter.
func (g *Grammar) watch(subject Subject) Question {
	path, word := "", g.choose(watchWords)+"&"
	switch g.random.IntN(20) {
	case 0:
		path = g.collection(subject, subject.Root+"/watch")
		word = g.choose([]string{"", word})
	case 1:
		subject.Root += "/watch"
		path = g.object(subject)
		word = g.choose([]string{"", word})
	default:
		path = g.collection(subject, subject.Root)
	}
	return Question{Path: path + "?" + word + "timeoutSeconds=1&" + g.query(g.with(subject, watchParameters)), Header: g.header(watchHeaders)}
}

// collection is a path of all objects, of those of a namespace, or now and then of the wrong scope.
func (g *Grammar) collection(subject Subject, root string) string {
	namespaced := subject.Objects[0].Namespace != ""
	if g.random.IntN(20) == 0 {
		namespaced = !namespaced
	}
	if namespaced && g.random.IntN(2) == 0 {
		root += "/namespaces/" + g.choose(namespaces)
	}
	return root + "/" + subject.Resource
}

// object is the path of an object, mostly of one that exists.
func (g *Grammar) object(subject Subject) string {
	object := subject.Objects[g.random.IntN(len(subject.Objects))]
	if g.random.IntN(6) == 0 {
		object.Name = g.choose(oddNames)
	}
	if g.random.IntN(20) == 0 {
		object.Namespace = g.choose(namespaces)
	}
	path := subject.Root
	if object.Namespace != "" {
		path += "/namespaces/" + object.Namespace
	}
	path += "/" + subject.Resource + "/" + object.Name
	if g.random.IntN(15) == 0 {
		path += g.choose(endings)
	}
	return path
}

// query is some of the parameters, in any order, seldom one of them twice.
func (g *Grammar) query(parameters []parameter) string {
	var parts []string
	for _, i := range g.random.Perm(len(parameters)) {
		p := parameters[i]
		for g.random.IntN(100) < p.percent {
			parts = append(parts, p.name+"="+g.value(p.choices))
			if g.random.IntN(15) > 0 {
				break
			}
		}
	}
	if g.random.IntN(40) == 0 {
		parts = append(parts, g.choose(junk))
	}
	return strings.Join(parts, "&")
}

// value is a parameter's, ready for a query. Blanks stay as they are.
func (g *Grammar) value(c choices) string {
	value := g.pick(c)
	if isBlank(value) {
		return value
	}
	return url.QueryEscape(value)
}

func (g *Grammar) header(parameters []parameter) http.Header {
	header := http.Header{}
	for _, p := range parameters {
		if g.random.IntN(100) < p.percent {
			header.Set(p.name, g.pick(p.choices))
		}
	}
	return header
}

// pick chooses a good value, or once in ten times an odd one.
func (g *Grammar) pick(c choices) string {
	if len(c.odd) > 0 && g.random.IntN(10) == 0 {
		return g.choose(c.odd)
	}
	return g.choose(c.good)
}

func (g *Grammar) choose(from []string) string { return from[g.random.IntN(len(from))] }
