// Package divergence tells in what two servers differ that should have the same objects at one resourceVersion: objects
// that one lacks, other versions, other bytes.
//
// Both sides are read once, in the order of their keys, and nothing of them is kept but what differs. What it says of
// bytes is short and printable, however long they are and whatever is in them.
//
// It starts no goroutine and talks to nobody: internal/reflector compares a lane with the upstream (self-audit),
// internal/verify a facade with kube-apiserver from outside.
package divergence
