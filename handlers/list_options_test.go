package handlers

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The cache supports every parameter of this release. One of a later release must not be ignored by mistake.
func TestEveryListOptionIsSupported(t *testing.T) {
	supported := map[string]bool{"labelSelector": true, "fieldSelector": true, "watch": true, "allowWatchBookmarks": true,
		"resourceVersion": true, "resourceVersionMatch": true, "timeoutSeconds": true, "limit": true, "continue": true,
		"sendInitialEvents": true, "shardSelector": true}
	options := reflect.TypeFor[metav1.ListOptions]()
	for i := range options.NumField() {
		if options.Field(i).Anonymous { // the TypeMeta
			continue
		}
		name, _, _ := strings.Cut(options.Field(i).Tag.Get("json"), ",")
		if !supported[name] {
			t.Errorf("got a list option %s that the cache does not support", name)
		}
		delete(supported, name)
	}
	for name := range supported {
		t.Errorf("got no list option %s, want it", name)
	}
}
