// Package proc reads from /proc what another process costs: the processor time that it used and the memory that it
// holds.
//
// It exists on Linux only; elsewhere every method fails. It starts no goroutine.
package proc
