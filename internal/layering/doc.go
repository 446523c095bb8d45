// Package layering tests which packages may import which others, by reading the source tree.
//
// The rules are one table (table_test.go). A new dependency between packages requires a change to that table, with the
// reason in the commit. The test reads every Go file of the module, whatever its build tags. Therefore the rules also
// apply to packages that no other package imports yet.
//
// The package exports nothing: all code is in test files, and uses only the standard library.
package layering
