package testkit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

type representation int

const (
	plain        representation = iota
	metadataOnly                // PartialObjectMetadata, or a Table whose rows have it
	cellsOnly                   // a Table without objects
)

// filter is the selection of a watch. newFilter parses it from the URL by the rules of semantics 1 and 5. matches
// applies it to decoded objects.
type filter struct {
	namespace      string
	labels         labels.Selector
	fields         fields.Selector
	representation representation
	meta           string // the version of meta.k8s.io in metadata-only representations
	bookmarks      bool
	initial        bool   // starts with all existing objects
	marked         bool   // a bookmark marks the end of the initial events
	byPath         bool   // requested by the deprecated path, not by a parameter
	start          uint64 // if initial is false, the watch starts after this version; 0 if the question names none
}

func newFilter(q Question) (*filter, error) {
	info, query := q.info()
	if info == nil {
		return nil, fmt.Errorf("%s: not a request for a resource", q)
	}
	f := &filter{bookmarks: isTrue(query["allowWatchBookmarks"]), namespace: info.Namespace}
	if info.Resource == "namespaces" {
		f.namespace = "" // the resolver reports the name of a Namespace object as the namespace
	}
	var err error
	if f.labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return nil, err
	}
	if f.fields, err = fields.ParseSelector(query.Get("fieldSelector")); err != nil {
		return nil, err
	}
	if info.Name != "" { // by the deprecated path
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

// isTrue parses a boolean parameter as kube-apiserver does (semantics 1.2).
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

// within reports whether another filter selects everything that f selects. It may report false in complicated cases.
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

// matches reports whether the filter selects a version of an object. It never selects a nil version, which means no
// object.
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

// fieldsOf is a decoded object, read by dotted paths.
type fieldsOf map[string]any

func (o fieldsOf) Has(path string) bool {
	_, ok := o.find(path)
	return ok
}

// absent are the default values of fields that JSON omits.
var absent = map[string]string{"spec.unschedulable": "false"}

// Get implements fields.Fields. An absent field is empty or has its default.
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

// show returns an object in the filter's representation, or nil if the representation contains no object.
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
