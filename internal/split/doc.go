// Package split is the command "listfacade split": a proxy with one address for reads and writes. It sends GET, LIST
// and WATCH of most resources, and discovery, to a facade, and other requests to kube-apiserver.
//
// Rules.Decide selects the target of a request from its method, path, query and headers. The targets authenticate and
// authorize each request by the caller's own bearer token. A wrong selection therefore costs time, and grants nothing.
//
// The package promises:
//   - The proxy has no credentials for its targets. It passes on the caller's Authorization header unchanged.
//   - No write reaches a facade. No write is sent twice, unless the target has certainly not received it.
//   - Each piece of a response is sent to the client immediately. A client that does not read takes a bounded amount of
//     memory, and delays no other client.
//   - While no facade is ready, kube-apiserver answers reads with small answers, up to the limits of fallback. Other
//     reads for a facade get 429 with Retry-After, or 503 if the proxy cannot verify any facade's certificate.
//   - When the context of Serve has ended, Serve returns after all requests have ended or are cut off.
//
// Goroutines: Serve owns two for each target, one for the certificate, one for each listener, one for the shutdown, and
// one for each watch that the shutdown ends. net/http owns the goroutines of requests. An attempt to open a shared
// connection has one goroutine, which ends soon after the connection is open.
//
// The package does not store or parse objects, and does not cache decisions.
package split
