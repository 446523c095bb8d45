package testkit

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Subject is a resource in the questions of a grammar.
type Subject struct {
	Root     string // path of its group and version
	Resource string
	Objects  []Object // at least one existing object
}

// Object names an object. Namespace is empty for a cluster-scoped object.
type Object struct{ Namespace, Name string }

// Grammar generates random questions. Most are valid, some have one or more errors. The same seed and subjects generate
// the same questions. Values that depend on the cluster's state are blanks, which Oracle.Fill replaces.
//
// It avoids questions whose answers differ by docs/divergences.md: methods that only one server supports, connections
// into containers, and watches with a negative timeout or from before the facade's start.
type Grammar struct {
	random   *rand.Rand
	subjects []Subject
}

// NewGrammar returns a grammar of at least one subject.
func NewGrammar(seed uint64, subjects []Subject) *Grammar {
	return &Grammar{random: rand.New(rand.NewPCG(seed, 0)), subjects: subjects} //nolint:gosec // must be repeatable
}

// Question returns the next question.
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

// noRead returns a question with a method that neither server supports for the path. It avoids custom resources and
// documents, because docs/divergences.md lists a difference in their answers.
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

// with returns the parameters. In half of the cases, field selectors of the subject's kind replace the general ones.
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

// watch returns a watch of one second. One in ten uses the deprecated path, which needs no watch parameter.
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
	return Question{Path: path + "?" + word + "timeoutSeconds=1&" + g.query(g.with(subject, watchParameters)),
		Header: g.header(watchHeaders)}
}

// collection returns the path of all objects or of one namespace, sometimes with the wrong scope.
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

// object returns the path of an object, which exists in most cases.
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

// query returns some of the parameters in random order, rarely one of them twice.
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

// value returns a parameter's value, escaped for a query. Blanks are not escaped.
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

// pick chooses a good value, or an odd one in a tenth of the cases.
func (g *Grammar) pick(c choices) string {
	if len(c.odd) > 0 && g.random.IntN(10) == 0 {
		return g.choose(c.odd)
	}
	return g.choose(c.good)
}

func (g *Grammar) choose(from []string) string { return from[g.random.IntN(len(from))] }
