package zpages

import (
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// errNoText is what text cannot do: it is negotiated over, and Page.Text is what is written.
var errNoText = errors.New("text/plain holds no objects")

// statusText stands for text among the forms that are negotiated over.
type statusText struct{}

// Encode implements runtime.Encoder.
func (statusText) Encode(runtime.Object, io.Writer) error { return errNoText }

// Decode implements runtime.Decoder.
func (statusText) Decode([]byte, *schema.GroupVersionKind, runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	return nil, nil, errNoText
}

// Identifier implements runtime.Encoder.
func (statusText) Identifier() runtime.Identifier { return "listfacadeText" }
