package zpages

import (
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// errNoText is returned by statusText, which is used only to negotiate text/plain. Page.Text produces the response.
var errNoText = errors.New("text/plain cannot encode objects")

type statusText struct{}

// Encode implements runtime.Encoder.
func (statusText) Encode(runtime.Object, io.Writer) error { return errNoText }

// Decode implements runtime.Decoder.
func (statusText) Decode([]byte, *schema.GroupVersionKind,
	runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	return nil, nil, errNoText
}

// Identifier implements runtime.Encoder.
func (statusText) Identifier() runtime.Identifier { return "listfacadeText" }
