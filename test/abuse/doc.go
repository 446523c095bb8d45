// Package abuse overloads a facade. Clients guess tokens, do not read responses, send HTTP/2 frames that no real client
// sends, or flood it with requests. The facade refuses or disconnects them and serves all other callers meanwhile.
// Afterwards no connection, goroutine or memory of the attack remains.
//
// SECURITY.md lists the attacks. The tests measure no latency: a time limit only shows that nothing hung. Benchmarks
// measure how floods affect other callers.
package abuse
