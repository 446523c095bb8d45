package testkit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// form is how a watch shows objects.
type representation int

const (
	plain        representation = iota
	metadataOnly                // PartialObjectMetadata, or a Table whose rows have it
	cellsOnly                   // a Table without objects
)

// filter is what a watch's question asks for, read from its URL by the rules of semantics 1 and 5 and evaluated on
// decoded objects.
type filter struct {
	namespace      string
	labels         labels.Selector
	fields         fields.Selector
	representation representation
	meta           string // the version of meta.k8s.io that shows metadata
	bookmarks      bool
	initial        bool   // starts with everything that is there
	marked         bool   // and tells where that ends
	byPath         bool   // asked for by the deprecated path, not by a parameter
	start          uint64 // else: starts behind this; 0 is a moment that the question does not tell
}

func newFilter(q Question) (*filter, error) {
	info, query := q.info()
	if info == nil {
		return nil, fmt.Errorf("%s: no question about a resource", q)
	}
	f := &filter{bookmarks: isTrue(query["allowWatchBookmarks"]), namespace: info.Namespace}
	if info.Resource == "namespaces" {
		f.namespace = "" // a namespace's own name is its namespace for the resolver
	}
	var err error
	if f.labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return nil, err
	}
	if f.fields, err = fields.ParseSelector(query.Get("fieldSelector")); err != nil {
		return nil, err
	}
	if info.Name != "" { // of the deprecated path
		f.fields = fields.AndSelectors(f.fields, fields.OneTermEqualSelector("metadata.name", info.Name))
	}
	if rv := query.Get("resourceVersion"); rv != "" {
		if f.start, err = strconv.ParseUint(rv, 10, 64); err != nil {
			return nil, fmt.Errorf("resourceVersion: %w", err)
		}
	}
	f.byPath = strings.Contains(info.Path, "/watch/") && !isTrue(query["watch"])
	f.initial = isTrue(query["sendInitialEvents"]) || (!query.Has("sendInitialEvents") && f.start == 0) // semantics 1.3
	f.marked = f.initial && f.bookmarks && (!f.byPath || query.Has("sendInitialEvents"))
	f.representation, f.meta = representationOf(q.Header.Get("Accept"), query.Get("includeObject"))
	return f, nil
}

// isTrue reads a parameter as kube-apiserver does (semantics 1.2).
func isTrue(values []string) bool {
	return len(values) > 0 && values[0] != "0" && !strings.EqualFold(values[0], "false")
}

func representationOf(accept, include string) (shown representation, meta string) {
	accept, _, _ = strings.Cut(accept, ",")
	meta = "v1"
	if strings.Contains(accept, "v=v1beta1") {
		meta = "v1beta1"
	}
	switch {
	case strings.Contains(accept, "as=Table") && include == "None":
		return cellsOnly, meta
	case strings.Contains(accept, "as=Table") && include == "Object":
		return plain, meta
	case strings.Contains(accept, "as="):
		return metadataOnly, meta
	}
	return plain, meta
}

// within tells whether everything that f selects is selected by another filter, too, as far as that is easily seen.
func (f *filter) within(other *filter) bool {
	named, _ := f.fields.RequiresExactMatch("metadata.namespace")
	if other.namespace != "" && other.namespace != f.namespace && other.namespace != named {
		return false
	}
	wants, _ := other.labels.Requirements()
	has, _ := f.labels.Requirements()
	for _, want := range wants {
		same := func(r labels.Requirement) bool { return r.String() == want.String() }
		if !slices.ContainsFunc(has, same) {
			return false
		}
	}
	return other.fields.Empty()
}

// matches tells whether a version is selected; nil, the absence of the object, never is.
func (f *filter) matches(key string, v *version) bool {
	if v == nil || (f.namespace != "" && !strings.HasPrefix(key, f.namespace+"/")) {
		return false
	}
	return f.labels.Matches(labelsOf(v.content)) && f.fields.Matches(fieldsOf(v.content))
}

func labelsOf(content map[string]any) labels.Set {
	set := labels.Set{}
	metadata, _ := content["metadata"].(map[string]any)
	have, _ := metadata["labels"].(map[string]any)
	for key, value := range have {
		set[key], _ = value.(string)
	}
	return set
}

// fieldsOf is a decoded object by the dotted paths of its fields.
type fieldsOf map[string]any

// Has implements fields.Fields.
func (o fieldsOf) Has(path string) bool {
	_, ok := o.find(path)
	return ok
}

// absent are the values of fields that are left out of JSON when they have them.
var absent = map[string]string{"spec.unschedulable": "false"}

// Get implements fields.Fields; what is absent is empty, or what its absence means.
func (o fieldsOf) Get(path string) string {
	value, ok := o.find(path)
	if !ok {
		return absent[path]
	}
	return value
}

func (o fieldsOf) find(path string) (string, bool) {
	var at any = map[string]any(o)
	for _, part := range strings.Split(path, ".") {
		inside, ok := at.(map[string]any)
		if !ok {
			return "", false
		}
		if at, ok = inside[part]; !ok {
			return "", false
		}
	}
	if text, ok := at.(string); ok {
		return text, true
	}
	return fmt.Sprint(at), true
}

// show renders what a frame of the filter's form says of an object; nil when it says nothing.
func (f *filter) show(object []byte) ([]byte, error) {
	switch f.representation {
	case metadataOnly:
		return partial(object, f.meta)
	case cellsOnly:
		return nil, nil
	default:
		return object, nil
	}
}
