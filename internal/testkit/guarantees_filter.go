package testkit

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// form is how a watch shows objects.
type form int

const (
	plain        form = iota
	metadataOnly      // PartialObjectMetadata, or a Table whose rows have it
	cellsOnly         // a Table without objects
)

// filter is what a watch's question asks for, read from its URL by the rules of semantics 1 and 5 and evaluated on decoded
// objects.
type filter struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
	form      form
	bookmarks bool
	initial   bool   // starts with everything that is there
	start     uint64 // else: starts behind this; 0 is a moment that the question does not tell
}

func newFilter(q Question) (*filter, error) {
	u, err := url.Parse(q.Path)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	f := &filter{bookmarks: query.Get("allowWatchBookmarks") == "true"}
	if f.labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return nil, err
	}
	if f.fields, err = fields.ParseSelector(query.Get("fieldSelector")); err != nil {
		return nil, err
	}
	parts := strings.Split(u.Path, "/")
	for i := 0; i+2 < len(parts); i++ {
		if parts[i] == "namespaces" {
			f.namespace = parts[i+1]
		}
	}
	if rv := query.Get("resourceVersion"); rv != "" {
		if f.start, err = strconv.ParseUint(rv, 10, 64); err != nil {
			return nil, fmt.Errorf("resourceVersion: %w", err)
		}
	}
	send := query.Get("sendInitialEvents")
	f.initial = send == "true" || (send == "" && f.start == 0) // semantics 1.3
	accept := q.Header.Get("Accept")
	switch {
	case strings.Contains(accept, "as=Table") && query.Get("includeObject") == "None":
		f.form = cellsOnly
	case strings.Contains(accept, "as=Table") && query.Get("includeObject") == "Object":
	case strings.Contains(accept, "as="):
		f.form = metadataOnly
	}
	return f, nil
}

func (f *filter) everything() bool {
	return f.namespace == "" && f.labels.Empty() && f.fields.Empty()
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

// Get implements fields.Fields; what is absent is empty.
func (o fieldsOf) Get(path string) string {
	value, _ := o.find(path)
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
	switch f.form {
	case metadataOnly:
		return partial(object)
	case cellsOnly:
		return nil, nil
	default:
		return object, nil
	}
}
