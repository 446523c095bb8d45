// Package page is the operator's page: what is wrong, and then the state of one facade in tables and charts, as HTML,
// JSON or text.
//
// A Source gathers a Status when somebody asks, and nothing is done while nobody does. What is wrong is judged from the
// Status alone (problems.go), and says which section of docs/runbook.md is about it.
//
// It promises:
//   - whatever clients have sent is text on the page: html/template escapes it, and the Content-Security-Policy lets
//     no script and no style run but page.js and page.css of this package;
//   - the page is whole without script: tables are sorted by links, and a meta element loads it again. The script does
//     the same without losing the reader's place, and says so when there is no answer;
//   - links are relative, so that the page works behind a proxy that serves it at a longer path;
//   - a query that is not understood is an error that says what would be, and is not passed over.
//
// It knows nothing of HTTP servers, nor who may see it: handlers and the debug socket ask it for an Answer.
package page
