// Package upstream is the client of the upstream, the kube-apiserver or facade that this facade reads from.
//
//   - Client sends GETs and reviews with the facade's own credentials. Client.Follow reads all objects of a small
//     resource and their changes.
//   - Catalog lists the resources in discovery. It watches APIServices to find out which group versions aggregated API
//     servers serve (aggregation.go).
//   - Documents caches discovery, OpenAPI and the version.
//   - Fields finds out whether the upstream supports a field selector that only some releases support. Shards finds out
//     whether the upstream applies shard selectors.
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
//   - Each response is bounded in time and bytes, except forwarded responses and the bodies from Client.Open. Callers
//     bound the time of Client.Post and Reviewer.Post. The total size of stored responses is also bounded.
//   - Requests go only to the upstream and its endpoints, with the given Credentials. Clients' tokens and the facade's
//     credentials share no connection.
//   - If the upstream refuses the facade's own user, no authenticated caller receives that refusal (refusal.go).
//   - However many clients read a document, and whatever headers they send, there is one request at a time for each
//     representation (document_representation.go). A stored document is requested again at most once a second.
//
// Goroutines exist only for two purposes: shared requests, with their waits for seats, and the checks of Endpoints.
// Endpoints waits for its checks.
//
// The package stores no objects and generates no responses. PassThrough copies the upstream's status and body. It only
// adds a cause to the Status of a 504, because old servers omit the cause (toolarge.go). The caller of PassThrough may
// replace the body.
package upstream
