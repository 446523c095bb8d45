// Package scan reads JSON without decoding it. Scanner scans one value. Lookup, Member and Elements find one location
// in a value.
//
// The package promises to accept and reject exactly the same input as encoding/json, in one pass and without recursion.
// Malformed input causes a *MalformedError, never a panic. Results alias the input.
//
// The package starts no goroutine and imports no other package of this module. Any package can use it.
package scan
