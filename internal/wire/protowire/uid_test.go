package protowire

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
)

func TestUID(t *testing.T) {
	for _, kind := range builtins()[:20] {
		g, some := newGolden(t, kind, 10), false
		for i, object := range g.objects {
			access, err := meta.Accessor(object)
			if err != nil {
				t.Fatal(err)
			}
			some = some || access.GetUID() != ""
			if got := g.shape.UID(&g.items[i]); got != string(access.GetUID()) {
				t.Errorf("%s: got %q, want %q", kind, got, access.GetUID())
			}
		}
		if !some {
			t.Errorf("%s: got no object with a UID", kind)
		}
	}
}
