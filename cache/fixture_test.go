package cache

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/selectors"
)

var pods = selectors.ForBuiltin(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, selectors.Namespaced)

// nodeField is the location of spec.nodeName in a pod's Attributes.
var nodeField = pods.Location("spec.nodeName")

// pod returns an object at rv on a node, with a label app unless app is empty. Its bytes have the structure of the
// upstream's.
func pod(key string, rv RV, node, app string) *Object {
	namespace, name, namespaced := strings.Cut(key, "/")
	if !namespaced {
		namespace, name = "", key
	}
	var labels []selectors.Label
	if app != "" {
		labels = []selectors.Label{{Key: "app", Value: app}}
	}
	values := make([]string, len(pods.Fields()))
	for i, field := range pods.Fields() {
		if field.Label == "spec.nodeName" {
			values[i] = node
		}
	}
	return NewObject(pods.Attributes(identity(namespace, name), labels, values), rv, itemOf(key, rv, node, app))
}

// identity returns the metadata of a test object. Its UID depends on its key, as in no real cluster.
func identity(namespace, name string) selectors.Identity {
	return selectors.Identity{Namespace: namespace, Name: name, UID: "uid of " + namespace + "/" + name}
}

// labelled returns a copy with more labels, whose keys sort after the existing ones. Empty labels are omitted.
func labelled(o *Object, labels ...selectors.Label) *Object {
	var all []selectors.Label
	for key, value := range o.Labels().All() {
		all = append(all, selectors.Label{Key: key, Value: value})
	}
	for _, label := range labels {
		if label.Value != "" {
			all = append(all, label)
		}
	}
	values := make([]string, len(pods.Fields()))
	for i, field := range pods.Fields() {
		values[i] = o.Field(pods.Location(field.Label))
	}
	return NewObject(pods.Attributes(identity(o.Namespace(), o.Name()), all, values), o.RV, *o.Item())
}

// shape is the shape of the test objects.
var shape = jsonwire.Encoding{}.Shape(wire.Description{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, ListKind: "PodList"})

var scanner = jsonwire.NewExtractor(nil)

// textOf returns an object's JSON.
func textOf(it *wire.Item) string {
	return string(shape.AppendObject(nil, wire.Representation{}, it, time.Time{}))
}

func itemOf(key string, rv RV, node, app string) wire.Item {
	json := fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"resourceVersion":"%d","labels":{"app":%q}},`+
		`"spec":{"nodeName":%q}}`, key, rv, app, node)
	item, _, err := scanner.Scan(jsonwire.Row{Object: []byte(json)})
	if err != nil {
		panic(err)
	}
	return item
}

// selecting returns the predicate of a request for pods.
func selecting(t testing.TB, namespace, labelSelector, fieldSelector string) *selectors.Predicate {
	t.Helper()
	l, err := selectors.ParseLabels(labelSelector)
	if err != nil {
		t.Fatal(err)
	}
	f, err := selectors.ParseFields(fieldSelector)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = pods.ConvertFields(f); err != nil {
		t.Fatal(err)
	}
	return pods.Predicate(namespace, l, f)
}

var podOptions = Options{Indexes: []Index{FieldIndex(nodeField), LabelIndex("app")}}

// newTestLane returns a lane with objects at rv. It checks its structure after every write, and at the end of the test
// that no feed or watcher is open.
func newTestLane(t testing.TB, o Options, rv RV, objects ...*Object) *Lane {
	t.Helper()
	l := NewLane(o)
	l.verifying = true
	t.Cleanup(func() {
		if s := l.Stats(); s.Feeds != 0 || s.Watchers != 0 {
			t.Errorf("left open: %d feeds, %d watchers", s.Feeds, s.Watchers)
		}
	})
	l.Replace(rv, shape, objects)
	return l
}

func apply(t testing.TB, l *Lane, kind ChangeKind, o *Object) {
	t.Helper()
	if err := l.Apply(Change{Kind: kind, Object: o}); err != nil {
		t.Fatalf("apply %s at %d: %v", o.Key(), o.RV, err)
	}
}

func watch(t testing.TB, l *Lane, p *selectors.Predicate, start Start) *Watcher {
	t.Helper()
	w, err := l.Watch(WatchOptions{Predicate: p, Start: start})
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	t.Cleanup(w.Close)
	return w
}

// drained returns all events that a watcher has once its feed is up to date, each as "TYPE key@objectRV node app".
func drained(w *Watcher) []string {
	w.epoch.running.Wait()
	var received []string
	for {
		for run, ok := w.NextInitial(); ok; run, ok = w.NextInitial() {
			for _, o := range run.Objects() {
				received = append(received, describe(Event{Type: Added, Object: o, RV: o.RV}))
			}
		}
		e, ok := w.Next()
		if !ok {
			return received
		}
		received = append(received, describe(e))
	}
}

func describe(e Event) string {
	if e.Object == nil {
		return fmt.Sprintf("%s@%d", e.Type, e.RV)
	}
	o := e.Object
	return fmt.Sprintf("%s %s@%d %s %s", e.Type, o.Key(), o.RV, o.Field(nodeField), o.Labels().Get("app"))
}

// pass waits for d inside a synctest bubble.
func pass(d time.Duration) { <-time.After(d) }

func keys(objects []*Object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, o.Key())
	}
	return all
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func current(t testing.TB, l *Lane) *State {
	t.Helper()
	s, err := l.State()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t testing.TB, l *Lane, rv RV) *State {
	t.Helper()
	s, err := l.At(context.Background(), rv, 0)
	if err != nil {
		t.Fatalf("at %d: %v", rv, err)
	}
	return s
}

// selected yields the objects that p matches, in key order, from the key from on.
func (s *State) selected(p *selectors.Predicate, from string) iter.Seq[*Object] {
	return flat(s.Selection(p, from).Runs())
}

// whole reports whether the run is a complete page.
func (r Run) whole() bool { return r.From == 0 && r.To == r.Page.Len() }
