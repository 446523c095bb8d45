// Package layering holds the house rules that are about who may import whom, as a test of the source tree.
//
// The rules are one table (table_test.go). A new edge between packages is a change to that table, with its reason in
// the commit. The test reads every Go file of the module from disk, build tags notwithstanding, so that a package which
// nothing imports yet is held to the rules as well; a package that does not exist yet breaks none.
//
// There is nothing here to import: all code is in the test files, and uses the standard library only.
package layering
