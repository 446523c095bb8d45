package reflector

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A lane that may take less than it needs is not filled; one that grows beyond it is dropped, and others are not.
func TestOwnMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
			t.Fatalf("the lane takes %d bytes", memory)
		}
		elapse(janitorEvery)
		if failure := lane.Failure(); failure == nil || !failure.Refused || !failure.TooLarge() || failure.NoMemory() {
			t.Fatalf("a lane that has grown goes on: %+v", failure)
		}
		if memory := lane.Memory(); memory != 0 {
			t.Errorf("it keeps %d bytes", memory)
		}
		elapse(tooLargeFor / 2)
		if again := r.lane(t); again != lane {
			t.Error("it is filled again before its time")
		}
		elapse(tooLargeFor)
		again := r.lane(t)
		again.AwaitSync(t.Context(), time.Hour)
		if failure := again.Failure(); again == lane || failure == nil || !failure.TooLarge() || !r.logged("exceeds its memory limit: 2 MiB") {
			t.Errorf("it is filled again: %+v", failure)
		}
	})
}

// What is different for one resource is so for that one only.
func TestOwnSettings(t *testing.T) {
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
