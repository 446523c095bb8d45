// Package references tests documents and comments against the source tree.
//
// Everything that a Markdown file or a Go comment names must exist: files and directories, flags, make targets, and
// sections of docs/semantics.md. The same applies to decisions in docs/adr, headings in links, and invariants of the
// cache. A test must name each invariant. Prose has at most 120 columns, and avoids the wordings of phrases_test.go.
//
// The tests find a file by its path, relative to the root of the repository or to a directory above the text. They find
// a flag by its two dashes, and a make target by its backquotes. Names from other projects, such as flags of
// kubectl, are listed with their origin in foreign_test.go.
//
// The package exports nothing: all code is in test files, and uses only the standard library.
package references
