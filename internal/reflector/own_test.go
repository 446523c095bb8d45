package reflector

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// A lane that needs more than the memory limit of its resource is not filled. One that exceeds it later is dropped, and
// no other.
func TestMemoryLimitOfResource(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{Resources: map[schema.GroupResource]Resource{configMaps.GVR.GroupResource(): {Memory: 2 << 20}}})
		put := func(from, to int) {
			for i := from; i < to; i++ {
				r.Put(fmt.Sprintf("ns/%02d", i), strings.Repeat("x", 100<<10))
			}
		}
		put(0, 10)
		lane := r.synced(t)
		put(10, 30)
		elapse(time.Second)
		if memory := lane.Memory(); memory < 2<<20 {
			t.Fatalf("got a lane of %d bytes", memory)
		}
		elapse(janitorEvery)
		if failure := lane.Failure(); failure == nil || !failure.Refused || !failure.TooLarge() || failure.NoMemory() {
			t.Fatalf("got failure %+v, want the end of a lane that has grown", failure)
		}
		if memory := lane.Memory(); memory != 0 {
			t.Errorf("got %d bytes in use after the end", memory)
		}
		elapse(tooLargeFor / 2)
		if again := r.lane(t); again != lane {
			t.Error("got a lane that is filled again before tooLargeFor")
		}
		elapse(tooLargeFor)
		again := r.lane(t)
		again.AwaitSync(t.Context(), time.Hour)
		if failure := again.Failure(); again == lane || failure == nil || !failure.TooLarge() || !r.logged("exceeds its memory limit: 2 MiB") {
			t.Errorf("got failure %+v, want one about the memory limit", failure)
		}
	})
}

// The settings of one resource apply to that resource only.
func TestSettingsOfOneResource(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	c := Config{
		Window: time.Minute, WindowBytes: 7, FieldIndexes: []string{"spec.nodeName"}, LabelIndexes: []string{"app"},
		Resources: map[schema.GroupResource]Resource{pods: {Window: time.Hour, FieldIndexes: []string{"status.phase"}, LabelIndexes: []string{"app", "track"}}},
	}
	own, other := c.of(pods), c.of(schema.GroupResource{Resource: "nodes"})
	want := Config{
		Window: time.Hour, WindowBytes: 7, FieldIndexes: []string{"spec.nodeName", "status.phase"}, LabelIndexes: []string{"app", "track"},
		Resources: c.Resources,
	}
	if diff := cmp.Diff(want, own); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(c, other); diff != "" {
		t.Error(diff)
	}
}
