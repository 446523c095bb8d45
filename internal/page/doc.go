// Package page renders the operator's page as HTML, JSON or text. The page lists the problems of one facade first, and
// then its state in tables and charts.
//
// A Source gathers a Status for each request. The package does no work between requests and starts no goroutine. The
// Page derives Problems from the Status alone (problems.go). Each problem names its section of docs/runbook.md or
// docs/operating.md.
//
// The package promises:
//   - Text from clients stays text: html/template escapes it. The Content-Security-Policy allows scripts and styles
//     from the same server only.
//   - The page works without script: links sort the tables, and a meta element reloads the page. With script, a reload
//     keeps the scroll position, and a message appears if the facade does not respond.
//   - Links are relative, because a proxy may serve the page at a longer path.
//   - For an invalid query, Answer returns an error that names the valid values.
//
// The package contains no HTTP server and does not authorize requests. Package handlers authorizes requests and calls
// Page.Answer. The debug socket of internal/facade also calls Page.Answer.
package page
