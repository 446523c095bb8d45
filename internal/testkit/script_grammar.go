package testkit

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	scriptWrites  = 36 // maximum; the minimum is half
	scriptWatches = 14 // maximum
)

// NewScript generates a random script. The same seed generates the same script.
func NewScript(seed uint64) Script {
	w := &scriptWriter{Grammar: Grammar{random: rand.New(rand.NewPCG(seed, 1))}} //nolint:gosec // must be repeatable
	order := w.random.Perm(len(scriptResources))
	for _, i := range order[:2+w.random.IntN(3)] {
		w.resources = append(w.resources, scriptResources[i])
	}
	for _, r := range w.resources {
		w.put(r)
		w.put(r)
		w.watch(r)
	}
	for range scriptWrites/2 + w.random.IntN(scriptWrites/2) {
		r := w.resource()
		w.write(r)
		switch n := w.random.IntN(100); {
		case n < 25:
			w.watch(w.resource())
		case n < 40:
			w.ask(w.resource())
		case n < 45:
			w.add(Resume, strconv.Itoa(1+w.random.IntN(w.watches)))
		}
	}
	w.endAll()
	for _, r := range w.resources {
		w.put(r)
		w.watch(r)
		w.ask(r)
	}
	return w.script
}

type scriptWriter struct {
	Grammar
	resources []scriptResource
	script    Script
	watches   int
}

func (w *scriptWriter) add(do Action, words ...string) {
	w.script = append(w.script, Step{Do: do, Words: words})
}

func (w *scriptWriter) resource() scriptResource { return w.resources[w.random.IntN(len(w.resources))] }

// name returns one of a few names, so most writes change existing objects. Names of cluster-scoped objects contain the
// blank {run}.
func (w *scriptWriter) name(r scriptResource) string {
	if r.namespaced {
		return w.choose(scriptNames)
	}
	return "{run}-" + w.choose(scriptNames)
}

func (w *scriptWriter) put(r scriptResource) {
	w.add(Put, r.resource, w.name(r), w.choose(scriptLabels), w.choose(scriptValues))
}

func (w *scriptWriter) write(r scriptResource) {
	if r.custom() && w.random.IntN(25) == 0 {
		w.redefine(r)
		return
	}
	switch action := w.choose(actionNames()); Action(action) {
	case Put:
		w.put(r)
	case Clear:
		w.add(Clear, r.resource, w.choose(scriptLabels))
	case Bind:
		w.add(Bind, "pods", w.choose(scriptNames), w.choose(scriptNodes))
	default:
		w.add(Action(action), r.resource, w.name(r))
	}
}

func actionNames() []string {
	var names []string
	for _, action := range scriptActions {
		names = append(names, string(action))
	}
	return names
}

func (w *scriptWriter) redefine(r scriptResource) {
	if w.random.IntN(4) == 0 {
		w.add(Recreate, r.resource)
	} else {
		w.add(Redefine, r.resource, w.choose(redefinedParts))
	}
	w.put(r)
	w.watch(r)
}

// endAll adds an action on all objects, in some scripts.
func (w *scriptWriter) endAll() {
	if w.random.IntN(5) == 0 {
		w.add(Destroy)
	}
	if i := slices.IndexFunc(w.resources, scriptResource.custom); i >= 0 && w.random.IntN(5) == 0 {
		w.redefine(w.resources[i])
	}
}

func (w *scriptWriter) watch(r scriptResource) {
	if w.watches == scriptWatches {
		return
	}
	w.watches++
	path, query := w.watchPath(r)
	start := w.choose(scriptStarts)
	if start == longAgo && !r.custom() {
		start = "" // a young kube-apiserver or etcd still has events from before the facade's start
	}
	query = append(query, start)
	if w.random.IntN(3) > 0 {
		query = append(query, "allowWatchBookmarks="+w.choose([]string{"true", "true", "1"}))
	}
	if w.random.IntN(4) == 0 {
		query = append(query, "timeoutSeconds="+w.choose([]string{"1", "2", "3", "4"}))
	}
	q := Question{Header: http.Header{"Accept": {w.choose(scriptAccepts)}}}
	if strings.Contains(q.Header.Get("Accept"), "as=Table") {
		query = append(query, w.choose([]string{"", "includeObject=Object", "includeObject=None", "includeObject=Metadata"}))
	}
	switch n := w.random.IntN(20); {
	case n < 5:
		q.Header.Set("Accept-Encoding", "gzip")
	case n < 7:
		q.Header.Set("Upgrade", "websocket")
	case n < 8:
		q.Header.Set("User-Agent", "curl/8.5.0")
	}
	query = append(query, w.selection(r)...)
	q.Path = path + "?" + strings.Join(slices.DeleteFunc(query, func(part string) bool { return part == "" }), "&")
	w.script = append(w.script, Step{Do: Watch, Question: q})
}

// watchPath returns the path and query of a watch: the collection with the parameter watch, or a path with the
// deprecated /watch/, which needs no parameter.
func (w *scriptWriter) watchPath(r scriptResource) (path string, query []string) {
	if w.random.IntN(10) == 0 {
		r.root += "/watch"
		query = []string{w.choose([]string{"", "watch=1"})}
	} else {
		query = []string{w.choose([]string{"watch=1", "watch=true"})}
	}
	wide := r.namespaced && w.random.IntN(3) == 0
	path = r.root + "/" + r.resource
	if r.namespaced && !wide {
		path = r.root + "/namespaces/{namespace}/" + r.resource
	}
	if strings.HasSuffix(r.root, "/watch") && !wide && w.random.IntN(3) == 0 {
		path += "/" + w.name(r)
	}
	return path, query
}

// selection returns a query that selects objects. For resources that other workloads also write, it selects only
// objects of this workload.
func (w *scriptWriter) selection(r scriptResource) []string {
	var labels, query []string
	if r.shared {
		labels = append(labels, "run={run}")
	}
	if w.random.IntN(2) == 0 {
		labels = append(labels, w.choose(scriptSelections))
	}
	if len(labels) > 0 {
		query = append(query, "labelSelector="+escapeBlanks(strings.Join(labels, ",")))
	}
	name := w.name(r)
	fields := append([]string{"metadata.name=" + name, "metadata.name!=" + name}, r.fields...)
	fields = append(fields, r.fields...)
	if r.namespaced {
		fields = append(fields, "metadata.namespace={namespace}", "metadata.namespace={namespace},metadata.name="+name)
	}
	if w.random.IntN(2) == 0 {
		query = append(query, "fieldSelector="+escapeBlanks(w.choose(fields)))
	}
	return query
}

// escapeBlanks escapes a query, except for blanks.
func escapeBlanks(text string) string {
	return strings.NewReplacer("%7B", "{", "%7D", "}", "%3A", ":").Replace(url.QueryEscape(text))
}

func (w *scriptWriter) ask(r scriptResource) {
	path := r.root + "/" + r.resource
	if r.namespaced {
		path = r.root + "/namespaces/{namespace}/" + r.resource
	}
	age := w.choose(scriptAges)
	query := []string{age}
	accept := w.choose(scriptListAccepts)
	if w.random.IntN(4) == 0 {
		path, query = path+"/"+w.name(r), []string{w.choose([]string{"", "resourceVersion=0", "resourceVersion={version:0}"})}
		accept = w.choose(scriptObjectAccepts)
	} else {
		query = append(query, w.selection(r)...)
	}
	query = slices.DeleteFunc(query, func(part string) bool { return part == "" })
	q := Question{Path: path + "?" + strings.Join(query, "&"), Header: http.Header{"Accept": {accept}}}
	w.script = append(w.script, Step{Do: Compare, Question: q})
}
