package accounting

import (
	"reflect"
	"testing"
)

// Each field of a key decides the order of keys that are otherwise equal.
func TestOrderOfKeysIsTotal(t *testing.T) {
	for i := range reflect.TypeFor[Key]().NumField() {
		var a, b Key
		reflect.ValueOf(&b).Elem().Field(i).SetString("b")
		if first, second := a.compare(&b), b.compare(&a); first != -1 || second != 1 {
			t.Errorf("%s: got %d and %d, want -1 and 1", reflect.TypeFor[Key]().Field(i).Name, first, second)
		}
	}
}
