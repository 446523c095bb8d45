package reflector

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/cache"
)

func TestReadRoll(t *testing.T) {
	call, err := readRoll([]byte(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[` +
		`{"kind":"PartialObjectMetadata","metadata":{"name":"a","namespace":"ns","resourceVersion":"7"}},{"metadata":{"name":"n","resourceVersion":"8"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]cache.RV{"ns/a": 7, "n": 8}, call.Versions); call.RV != 9 || diff != "" {
		t.Errorf("at %d: %s", call.RV, diff)
	}
	for _, body := range []string{
		``, `[]`, `{}`, `{"metadata":{"resourceVersion":"0"},"items":[]}`, `{"metadata":{"resourceVersion":"x"}}`,
		`{"metadata":{"resourceVersion":"9","continue":"more"},"items":[]}`, `{"metadata":{"resourceVersion":"9"},"items":[{}]}`,
	} {
		if _, err := readRoll([]byte(body)); err == nil {
			t.Errorf("%s is read", body)
		}
	}
}
