package jsonwire

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/wire"
)

// TestPartialOfCustomResources compares partial objects with the JSON of the Go type, because kube-apiserver decodes a
// custom resource's metadata into it (semantics 6.5).
func TestPartialOfCustomResources(t *testing.T) {
	random := settings.Random(t)
	extractor := NewExtractor(nil)
	for range 500 {
		partial := metav1.PartialObjectMetadata{ObjectMeta: randomMeta(random)}
		partial.APIVersion, partial.Kind = "meta.k8s.io/v1beta1", "PartialObjectMetadata"
		want, err := json.Marshal(partial)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := json.Unmarshal(want, &object); err != nil {
			t.Fatal(err)
		}
		object["apiVersion"], object["kind"], object["spec"] = "ex.io/v1", "Widget", map[string]any{}
		sorted, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		item, _, err := extractor.Scan(Row{Object: sorted})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(new(Shape).appendPartial(nil, opened(&item), wire.MetaV1Beta1))); diff != "" {
			t.Fatalf("(-Go type +spliced):\n%s", diff)
		}
	}
}

func randomMeta(random *rand.Rand) metav1.ObjectMeta {
	text := func() string { return []string{"", "a", `<"&>`, "é\u2028", "x/y"}[random.IntN(5)] }
	texts := func() map[string]string {
		m := map[string]string{}
		for range random.IntN(4) {
			m[text()] = text()
		}
		return m
	}
	m := metav1.ObjectMeta{
		Name: text(), GenerateName: text(), Namespace: text(), SelfLink: text(), UID: types.UID(text()), //nolint:staticcheck // selfLink is deprecated, and its place in the order stays
		ResourceVersion: fmt.Sprint(1 + random.IntN(1000)), Generation: random.Int64N(3),
		Labels: texts(), Annotations: texts(),
	}
	if random.IntN(2) == 0 {
		m.CreationTimestamp = metav1.Unix(random.Int64N(1<<31), 0)
	}
	if random.IntN(2) == 0 {
		seconds := random.Int64N(2)
		m.DeletionTimestamp, m.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Unix(1, 0)}, &seconds
	}
	for range random.IntN(3) {
		flag := random.IntN(2) == 0
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{
			APIVersion: text(), Kind: text(), Name: text(), UID: "u", Controller: &flag, BlockOwnerDeletion: []*bool{nil, &flag}[random.IntN(2)],
		})
		m.Finalizers = append(m.Finalizers, text())
		m.ManagedFields = append(m.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: text(), Operation: metav1.ManagedFieldsOperationApply, APIVersion: text(), Time: &metav1.Time{Time: time.Unix(2, 0)},
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{".":{},"f:labels":{}}}`), Subresource: text(),
		})
	}
	return m
}

func TestPartialOfUnusualMetadata(t *testing.T) {
	for metadata, want := range map[string]string{
		`{"uid":"u","resourceVersion":"1","unknown":7,"name":"n"}`:             `{"name":"n","uid":"u","resourceVersion":"1"}`,
		`{"creationTimestamp":null,"labels":null,"resourceVersion":"1"}`:       `{"resourceVersion":"1"}`,
		`{"ownerReferences":[],"managedFields":[{}],"resourceVersion":"1"}`:    `{"resourceVersion":"1","ownerReferences":[],"managedFields":[{}]}`,
		`{"ownerReferences":[7,null],"managedFields":{},"resourceVersion":""}`: `{"resourceVersion":"","ownerReferences":[7,null],"managedFields":{}}`,
	} {
		item, _, err := NewExtractor(nil).Scan(Row{Object: []byte(`{"apiVersion":"ex.io/v1","kind":"W","metadata":` + metadata + `}`)})
		if err != nil {
			t.Fatal(err)
		}
		want = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":` + want + `}`
		if diff := cmp.Diff(want, string(new(Shape).appendPartial(nil, opened(&item), wire.MetaV1))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", metadata, diff)
		}
	}
}
