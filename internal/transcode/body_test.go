package transcode

import (
	"bytes"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestBodiesAreUnwrapped(t *testing.T) {
	object := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}, Data: map[string]string{"k": "v"},
	}
	var body bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &body); err != nil {
		t.Fatal(err)
	}
	const head = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u"}`
	got, err := Body(nil, body.Bytes())
	if want := head + `,"data":{"k":"v"}}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	got, err = BodyMetadata(nil, body.Bytes())
	if want := head + `}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := Body(nil, []byte(`{}`)); !errors.Is(err, ErrMalformed) {
		t.Errorf("got %v, want %v", err, ErrMalformed)
	}
}
