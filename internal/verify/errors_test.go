package verify

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// An operator can read the message of a Status in each encoding, and the beginning of a body that is no Status.
func TestRefusalShowsMessageOfStatus(t *testing.T) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	status := &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Message: "secrets is forbidden", Code: 403,
	}
	bodies := map[string][]byte{"a text": []byte("secrets is forbidden")}
	for name, encoder := range map[string]runtime.Encoder{
		"JSON":     json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{}),
		"protobuf": protobuf.NewSerializer(scheme, scheme),
	} {
		var body bytes.Buffer
		if err := encoder.Encode(status, &body); err != nil {
			t.Fatal(err)
		}
		bodies[name] = body.Bytes()
	}
	for name, body := range bodies {
		const want = `the facade returned 403: "secrets is forbidden"`
		if got := (&refusal{server: "the facade", code: 403, body: body}).Error(); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
