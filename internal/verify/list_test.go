package verify

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Readers return objects with the bytes that were sent, in both encodings.
func TestReaders(t *testing.T) {
	sent := corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "more"}}
	for _, name := range []string{"a", "b"} {
		sent.Items = append(sent.Items, corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: "5", Generation: 3}, Data: map[string]string{"k": name},
		})
	}
	raw, err := sent.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}, Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	json := []byte(`{"metadata":{"continue":"more","resourceVersion":"9"},"items":[{"metadata":{"name":"a","namespace":"ns","resourceVersion":"5"}},` +
		`{"metadata":{"name":"b","namespace":"ns","resourceVersion":"5"}}]}`)
	for encoding, body := range map[string][]byte{"json": json, "protobuf": append([]byte(protobufMagic), envelope...)} {
		l, err := readers[encoding](body)
		if err != nil || l.version != "9" || l.next != "more" || len(l.objects) != 2 || l.objects[1].Key != "ns/b" || l.objects[1].Version != "5" {
			t.Errorf("%s: got %+v, %v", encoding, l, err)
		}
		if size := len(l.objects[0].Append(nil, "")) + len(l.objects[1].Append(nil, "")); size != l.bytes || size == 0 {
			t.Errorf("%s: objects have %d bytes, want %d", encoding, size, l.bytes)
		}
		for cut := range body { // it must not panic, nor return a complete list with missing bytes
			if short, err := readers[encoding](body[:cut]); err == nil && len(short.objects) == 2 && short.version == "9" && short.bytes != l.bytes {
				t.Errorf("%s: got a list from the first %d bytes, want an error", encoding, cut)
			}
		}
	}
}
