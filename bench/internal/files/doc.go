// Package files is a bare file server, the limit of what any server in Go can reach: it sends bytes that lie in its
// memory with http.ServeContent, over the TLS and HTTP/2 of net/http. The bytes, with the header that says how they are
// encoded, are answers of the facade.
//
// It runs as a process of its own, so that its price is accountable like that of the servers that are compared.
package files
