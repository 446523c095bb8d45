// Package manifest applies YAML files to a cluster with server-side apply, and waits until a user has a permission.
//
// Applying a file twice has the same effect as applying it once. The package waits for a kind whose definition was just
// applied. It starts no goroutine, and never deletes anything.
package manifest
