// Package manifest applies YAML files to a cluster with server-side apply, and waits for conditions there.
//
// It promises that applying twice is the same as applying once, and that a kind whose definition was applied a moment
// ago is waited for. It starts no goroutine, and never deletes anything.
package manifest
