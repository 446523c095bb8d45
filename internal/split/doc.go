// Package split is the command "listfacade split": a proxy with one address for reads and writes. It sends GET, LIST
// and WATCH of cached resources, and discovery, to a facade, and all other requests to kube-apiserver.
//
// Rules.Decide selects the target of a request from its method, path, query and headers. The targets authenticate and
// authorize each request by the caller's own bearer token. A wrong selection therefore costs time, and grants nothing.
//
// The package promises:
//   - The proxy has no credentials and sends none of its own. It passes on the caller's Authorization header unchanged.
//   - No write reaches a facade. No write is sent twice, unless the target has certainly not received it.
//   - Each piece of a response is sent to the client immediately. A client that does not read occupies one buffer, and
//     delays no other client.
//   - When no facade is ready, kube-apiserver answers reads with small answers, within the bounds of fallback. All
//     other reads for a facade get 429 with Retry-After.
//   - After the context of Serve ends, Serve returns when all requests have ended or are cut off.
//
// Goroutines: Serve owns one for the checks of each target, for the certificate, for each listener and for the
// shutdown. net/http owns the goroutines of requests.
//
// The package stores nothing, does not parse objects, and does not cache decisions.
package split
