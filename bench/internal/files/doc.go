// Package files is a bare file server. It shows how fast a server in Go can be at most. It sends bytes from memory with
// http.ServeContent, over the TLS and HTTP/2 of net/http. The bytes are recorded responses of the facade, with their
// Content-Type and Content-Encoding.
//
// The server is a separate process, so that its cost is measured in the same way as the cost of the compared servers.
// The package starts one goroutine, which ends the server when its standard input ends.
package files
