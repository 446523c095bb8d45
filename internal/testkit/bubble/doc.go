// Package bubble runs tests in bubbles of testing/synctest on one processor.
//
// The race detector of Go 1.26 crashes at random if timers of a bubble fire on two processors at once. Both processors
// then use the same record of a stack (golang/go issue 78156), and the process can end with SIGSEGV. This ended three
// of ten runs of internal/reflector. Go 1.27 does not crash. Remove the package when the module requires Go 1.27. Tests
// outside of bubbles keep all processors.
//
// If a bubble does not end, the process ends after settings.Patience in real time. The package starts no goroutine,
// except the timer for this limit. A test sees no difference except the number of processors.
package bubble
