// Package page renders the operator's page as HTML, JSON or text. The page lists the problems of one facade first, and
// then its state in tables and charts.
//
// A Source gathers a Status for each request. The package does no work between requests and starts no goroutine.
// Problems are derived from the Status alone (problems.go). Each links to its section of docs/runbook.md or
// docs/operating.md.
//
// The package promises:
//   - Text from clients stays text: html/template escapes it. The Content-Security-Policy allows no script and no style
//     except page.js and page.css of this package.
//   - The page works without script: links sort the tables, and a meta element reloads the page. The script reloads
//     without losing the scroll position, and shows a message if the facade does not respond.
//   - Links are relative: the page also works behind a proxy that serves it at a longer path.
//   - An invalid query is an error that names the valid values; it is not ignored.
//
// The package contains no HTTP server and does not authorize requests. Package handlers and the debug socket do that,
// and call Page.Answer.
package page
