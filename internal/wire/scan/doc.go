// Package scan walks over JSON without decoding it: over one value with a Scanner, to one place in it with Lookup,
// Member and Elements.
//
// It promises to accept what encoding/json accepts and to refuse what encoding/json refuses, in one pass and without
// recursion. Malformed input gives a *MalformedError and never panics. What it returns aliases what it was given.
//
// The package starts no goroutine and imports nothing of this module, so that whoever has JSON to look at can use it.
package scan
