package suite

import "net/http"

// Media types that the facade serves from the cache.
const (
	AcceptJSON    = "application/json"
	AcceptTable   = "application/json;as=Table;v=v1;g=meta.k8s.io"
	AcceptPartial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
)

// Accepting returns the header that requests a media type.
func Accepting(accept string) http.Header { return http.Header{"Accept": {accept}} }
