package selectors_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/selectors"
)

// heap returns the bytes in use, after garbage and weakly referenced memory was collected.
func heap() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// generation returns objects that share no label keys, label values or fields with others.
func generation(kind *selectors.Kind, number, size int) []*selectors.Attributes {
	objects := make([]*selectors.Attributes, size)
	for i := range objects {
		unlike := fmt.Sprintf("%d-%d", number, i)
		objects[i] = attributes(kind, labels.Set{"key-" + unlike: unlike, "hash": strings.Repeat(unlike, 10)},
			fields.Set{"metadata.name": unlike, "spec.nodeName": "node-" + unlike, "status.phase": "phase-" + unlike})
	}
	return objects
}

// fallsTo waits until at most bytes above start are in use. The runtime frees memory in the background.
func fallsTo(t *testing.T, start, bytes int64) {
	t.Helper()
	left := heap() - start
	for deadline := time.Now().Add(time.Minute); left > bytes; left = heap() - start {
		if time.Now().After(deadline) {
			t.Fatalf("got %d bytes in use, want at most %d", left, bytes)
		}
	}
}

// TestUnusedAttributesAreFreed: a lane runs for months, during which labels appear and disappear.
func TestUnusedAttributesAreFreed(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	const size = 3_000
	start := heap()
	held := generation(pod, 0, size)
	one := heap() - start
	if one < size*100 {
		t.Fatalf("%d objects without common data: got %d bytes, want more", size, one)
	}
	for number := range 4 {
		held = generation(pod, number+1, size)
	}
	fallsTo(t, start, one*5/4)
	runtime.KeepAlive(held)
	held = nil
	fallsTo(t, start, one/4)
}

// TestAttributesOfOneTemplateAreShared: objects of one template share their common data, and the sharing costs no
// memory.
func TestAttributesOfOneTemplateAreShared(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	_, labelsOf, fieldsOf := benchObject(pod)
	const size = 10_000
	objects := make([]selectors.Attributes, size)
	start := heap()
	for i := range objects {
		fieldsOf["metadata.name"], fieldsOf["status.podIP"] = fmt.Sprintf("web-5d9c7b6f4-%05d", i), "10.1.2.3"
		objects[i] = *attributes(pod, labelsOf, fieldsOf)
	}
	each := float64(heap()-start) / size
	// "shop/web-5d9c7b6f4-00000", the address, the hash, three lengths: 43 bytes, for which Go allocates 48.
	if objects[0].OwnBytes() != 43 || each > 49 {
		t.Errorf("got %d own bytes and %.1f in memory, want 43 and at most 49", objects[0].OwnBytes(), each)
	}
	runtime.KeepAlive(objects)
}

// TestAttributesDoNotKeepTheirSource: attributes are made from a list or frame, which they must not keep in memory.
func TestAttributesDoNotKeepTheirSource(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	freed := make(chan struct{})
	a := attributesInPage(pod, freed)
	runtime.GC()
	select {
	case <-freed:
	case <-time.After(settings.Patience()):
		t.Error("attributes keep the page in memory")
	}
	if text := strings.Repeat("a", 10); a.Key() != text+"/"+text || a.Labels().Get(text) != text {
		t.Errorf("got key %q, labels %v", a.Key(), a.Labels())
	}
}

// attributesInPage returns attributes made from texts in a page, and closes the channel when the page is freed.
func attributesInPage(k *selectors.Kind, freed chan struct{}) selectors.Attributes {
	page := bytes.Repeat([]byte("a"), 1<<20)
	runtime.AddCleanup(&page[0], func(freed chan struct{}) { close(freed) }, freed)
	text := func(at int) string { return unsafe.String(&page[10*at], 10) }
	var values []string
	for i := range k.Fields() {
		values = append(values, text(10+i))
	}
	return k.Attributes(selectors.Identity{Namespace: text(0), Name: text(1)}, []selectors.Label{{Key: text(2), Value: text(3)}}, values)
}
