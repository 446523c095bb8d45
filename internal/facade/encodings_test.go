package facade

import (
	"testing"

	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// YAML is converted from the first encoding, and kinds that no other encoding covers are served in it.
func TestFirstEncodingIsJSON(t *testing.T) {
	if first := encodings()[0]; first != (jsonwire.Encoding{}) {
		t.Errorf("got %s, want json", first.Name())
	}
}
