// Package document gives tests the commands, files and code of the documents, so that tests run what a reader copies.
//
// A Block is a piece of a document, found by the heading above it. The table of claims.go says which test uses each
// block of README.md, docs/clients.md and docs/time-travel.md. The function Text fails if the table does not name the
// calling package for the block. A test of this package fails if a block has neither a test nor a reason in the table.
// A Shell runs blocks with bash, as a reader does.
//
// A Running is a command in the foreground. It has a goroutine that waits for the process. Interrupt and the end of the
// test wait for that goroutine.
package document
