package selectors_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/listfacade/listfacade/selectors"
)

var _ labels.Labels = selectors.LabelSet{}

// TestLabelSetLikeApimachinery looks up every key in every subset of five keys and compares the result with
// apimachinery's map.
func TestLabelSetLikeApimachinery(t *testing.T) {
	keys := []string{"", "a", "a.b/c", "b", "z"}
	for subset := range 1 << len(keys) {
		reference := labels.Set{}
		for i, key := range keys {
			if subset&(1<<i) != 0 {
				reference[key] = "value of " + key
			}
		}
		set := attributes(pods, reference, nil).Labels()
		for _, key := range append(keys, "aa", "zz") {
			value, exists := set.Lookup(key)
			wantValue, wantExists := reference.Lookup(key)
			if value != wantValue || exists != wantExists || set.Has(key) != wantExists || set.Get(key) != wantValue {
				t.Errorf("%v: Lookup(%q) = %q, %v; want %q, %v", reference, key, value, exists, wantValue, wantExists)
			}
		}
	}
}
