package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
)

// tree is a decoded JSON object.
type tree = map[string]any

// lastApplied is the annotation in which kubectl repeats the content of an object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// object is a decoded object without the fields that clean removes.
type object struct {
	content  tree
	uid      string
	labels   labels.Set
	managers []written
	partial  bool // content has only kind, apiVersion and metadata
}

func read(text []byte) (*object, error) {
	var content tree
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	metadata, _ := content["metadata"].(tree)
	o := &object{content: content, labels: labels.Set{}, managers: writers(metadata["managedFields"])}
	o.uid, _ = metadata["uid"].(string)
	found, _ := metadata["labels"].(tree)
	for name, value := range found {
		o.labels[name], _ = value.(string)
	}
	clean(metadata)
	return o, nil
}

// clean removes the fields that only reflect changes of other fields.
func clean(metadata tree) {
	for _, name := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(metadata, name)
	}
	annotations, ok := metadata["annotations"].(tree)
	if delete(annotations, lastApplied); ok && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}

func matches(selector labels.Selector, objects ...*object) bool {
	for _, o := range objects {
		if o != nil && selector.Matches(o.labels) {
			return true
		}
	}
	return false
}
