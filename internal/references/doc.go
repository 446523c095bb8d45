// Package references holds what documents and comments say about the repository to the repository, as a test of the
// source tree.
//
// Whatever a Markdown file or a Go comment names has to be there: files and directories, flags, make targets, sections
// of docs/semantics.md, decisions in docs/adr, headings that a link leads to, invariants of the cache. Each invariant
// has to be named by a test. Prose keeps to 120 columns.
//
// How a thing is named so that it is found: a file by its path from the root of the repository, or from a directory
// above the one that names it; a flag with both of its dashes; a make target in backquotes. What belongs to somebody
// else, as a flag of kubectl's does, stands in a list with the reason (foreign_test.go).
//
// There is nothing here to import: all code is in the test files, and uses the standard library only.
package references
