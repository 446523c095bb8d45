// Package report is what a run of the benchmark found, and how it is written down: as JSON, from which everything can
// be written again without measuring; as tables in Markdown, between two markers in a file whose other text stays; and
// as plots.
//
// It measures nothing and starts no goroutine.
package report
