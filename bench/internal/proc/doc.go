// Package proc reads the processor time and memory of another process from /proc.
//
// It works on Linux only; elsewhere every method returns an error. It starts no goroutine.
package proc
