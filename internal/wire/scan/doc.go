// Package scan reads JSON without decoding it. Scanner scans a value. Lookup, Member and Elements find parts of it.
//
// The package promises that a Scanner accepts and rejects the same input as encoding/json, in one pass. Only the
// maximum depth is larger (maxDepth). Lookup, Member and Elements validate only the part that they read. Malformed
// input causes a *MalformedError, never a panic. Bytes that are returned alias the input, except keys with escapes.
//
// The package starts no goroutine and imports no other package of this module.
package scan
