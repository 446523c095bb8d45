// Package discovery reads what a server serves: its groups, their versions in the server's order of preference, and
// the resources of each, from /api and /apis. It asks for aggregated discovery (KEP-3352) in two questions, and a
// server that does not know that (before 1.26) once for each version.
//
// A version that cannot be read does not hide the others. The package does not know how a server is asked, owns no
// goroutine once Read has returned, and keeps nothing. It is there because client-go's discovery brings all types of
// Kubernetes and all of OpenAPI into a program (ADR 25), and is tested against it.
package discovery
