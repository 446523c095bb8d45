// Package item is what an object is kept as: bytes, and marks in them. It lies where only the encodings can import it,
// so that the compiler keeps everybody else, the cache and the handlers, from looking inside.
//
// An Item is one struct for all encodings and no interface: a list walks over a hundred thousand of them, and neither a
// second allocation nor a second cache miss for each is paid for hiding what they are.
//
// The package starts no goroutine and imports nothing of this module.
package item
