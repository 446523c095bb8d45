// Package upstream is the client of the one kube-apiserver that the facade reads.
//
//   - Client sends GETs and reviews with the facade's own credentials. Client.Follow reads every object and change of a
//     small resource.
//   - Catalog lists the resources that the upstream serves. It watches APIServices to find out which group versions
//     other servers serve (aggregation.go). A group version without an APIService counts as served by another server.
//   - Documents caches discovery, OpenAPI and the version.
//   - Fields finds out whether the upstream supports a field selector that only some releases support, and Shards
//     whether it applies shard selectors.
//   - PassThrough forwards requests that the facade does not answer from its cache.
//   - Reviewer sends reviews of callers. It has its own credentials and connections, and measures outages separately.
//     Issuer reads the keys of service account tokens.
//   - Endpoints chooses one of several addresses of the upstream.
//
// It promises:
//   - It changes no object. It sends only GETs, HEADs, and the POSTs of reviews. Reviews come from the package itself,
//     from internal/auth, and from clients (question.go).
//   - Each request names this facade and all facades that the request passed through (hop.go). A facade therefore
//     detects that its upstream is the facade itself.
//   - Each Client measures how long the upstream has answered none of its requests (outage.go).
//   - Each response is bounded in time and bytes, except forwarded responses and the bodies from Client.Open. The total
//     size of stored responses is also bounded.
//   - Requests go only to the upstream and its endpoints, with the given Credentials. Clients' tokens and the facade's
//     credentials share no connection.
//   - If the upstream refuses the facade's own user, no other caller receives that refusal (refusal.go).
//   - Each document is requested at most once a second in each representation, however many clients read it and
//     whatever headers they send (document_representation.go). Callers take turns.
//
// Goroutines exist only for two purposes. A shared request runs in a goroutine until its response is read. The checks
// of Endpoints run in goroutines, and Endpoints.Run waits for those that it starts.
//
// The package stores no objects and generates no responses. PassThrough copies the upstream's response. It only adds a
// cause to the Status of a 504, where old servers omit it (toolarge.go).
package upstream
