// Package bubble runs tests in bubbles of testing/synctest on one processor.
//
// The race detector of Go 1.26 crashes at random if timers of a bubble fire on two processors at once, because they
// share its record of one stack (golang/go issue 78156): SIGSEGV in three of ten runs of internal/reflector. Go 1.27
// does not crash. Remove the package when the module requires Go 1.27. Tests outside of bubbles keep all processors.
//
// A bubble that does not end also ends the process, after settings.Patience in real time.
//
// The package starts no goroutine, except for that end. It never changes what a test sees, except for the number of
// processors.
package bubble
