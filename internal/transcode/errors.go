package transcode

import "errors"

// ErrUnknownKind is returned for kinds without protobuf, and for kinds that are not in k8s.io/api.
var ErrUnknownKind = errors.New("the fields of this kind are unknown")

// ErrMalformed is returned for bytes that are no message of their kind.
var ErrMalformed = errors.New("malformed message")
