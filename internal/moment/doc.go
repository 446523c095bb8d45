// Package moment reads the moments that operators type: a time, a duration before now, or a resourceVersion. All
// commands that read a journal accept the same ones.
//
// The package starts no goroutine and imports no other package of this module.
package moment
