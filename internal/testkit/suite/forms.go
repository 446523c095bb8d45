package suite

import "net/http"

// Media types that the cache answers in.
const (
	AcceptJSON    = "application/json"
	AcceptTable   = "application/json;as=Table;v=v1;g=meta.k8s.io"
	AcceptPartial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
)

// Accepting is the header of a question for a media type.
func Accepting(accept string) http.Header { return http.Header{"Accept": {accept}} }
