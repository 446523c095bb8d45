// Package report contains the results of a benchmark run, and writes them as JSON, tables and plots. The JSON is
// complete: the other files can be written again from it without measuring. The tables are Markdown between two markers
// of a file; the rest of the file is not changed.
//
// The package measures nothing and starts no goroutine.
package report
