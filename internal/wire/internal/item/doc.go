// Package item contains the representation of an object in memory: bytes, and marks that are positions in them. It is
// an internal package of wire. The compiler therefore prevents the cache and the handlers from reading the bytes.
//
// Item is one struct for all encodings, not an interface. A list reads a hundred thousand items, and an interface would
// cost a second allocation and a second cache miss for each item.
//
// The bytes of an item are plain or packed. Packed bytes are compressed by zstd with a Dictionary, which contains the
// common content of objects of a kind. A reader opens the item, reads the plain bytes, and closes the item.
// Alternatively, the reader appends the plain bytes to a buffer. The size and the marks are available without
// unpacking.
//
// Packed bytes have their own memory or share a block, which stays in memory until its last item is dropped. The owner
// of the items reports which items it drops. The owner moves the remaining items when more than a quarter of a block is
// unused.
//
// The package starts no goroutine.
package item
