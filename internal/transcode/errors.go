package transcode

import "errors"

// ErrUnknownKind is returned for kinds that are not in k8s.io/api or have no protobuf encoding.
var ErrUnknownKind = errors.New("the fields of this kind are unknown")

// ErrMalformed is returned for bytes that are not a message of the expected type.
var ErrMalformed = errors.New("malformed message")
