// Package item is what an object is kept as: bytes, and marks in them. It lies where only the encodings can import it,
// so that the compiler keeps everybody else, the cache and the handlers, from looking inside.
//
// An Item is one struct for all encodings and no interface: a list walks over a hundred thousand of them, and neither a
// second allocation nor a second cache miss for each is paid for hiding what they are.
//
// An item's bytes are as they came, or packed: compressed by zstd against a Dictionary, which holds what the objects of
// a kind have in common. Who needs the bytes opens the item, and closes it when they are no longer needed; or has them
// appended where they are to stand. What has to be known without them, how many they are and where in them lies what,
// is kept beside them.
//
// Packed bytes have memory of their own, or stand in a block beside others, which stays for the last of them. Who keeps
// the items says which are gone, and moves the others when those are more than a quarter of a block.
//
// The package starts no goroutine and imports nothing of this module.
package item
