// Package upstream is the client of the one kube-apiserver that the facade reads.
//
//   - Client sends GETs and reviews with the facade's own credentials. Client.Follow reads every object and change of a
//     small resource.
//   - Catalog lists the resources that the upstream serves. It watches APIServices to find out which group versions
//     other servers serve (aggregation.go). A group version without an APIService does not count as the upstream's own.
//   - Documents caches discovery, OpenAPI and the version.
//   - Fields finds out which field selectors the upstream supports, where that depends on its release.
//   - PassThrough forwards requests that the facade does not answer from its cache.
//   - Reviewer sends reviews of callers. It has its own outage clock, credentials and connections.
//   - Endpoints chooses one of several addresses of the upstream.
//
// It promises:
//   - It changes no object. It sends only GETs, HEADs, and the POSTs of reviews: its own, those of internal/auth, and
//     those of clients (question.go).
//   - Each request names this facade, and the facades that it passed through (hop.go). An upstream that is the facade
//     itself is therefore noticed.
//   - One clock measures how long the upstream has answered no request of a Client (outage.go).
//   - Each response is bounded in time and bytes, except forwarded ones. Stored responses are bounded, too.
//   - Requests go only to the upstream and its endpoints, with the given Credentials. Clients' tokens and the facade's
//     credentials share no connection.
//   - A refusal of the facade's own user is not sent to another caller (refusal.go).
//   - Each document is requested at most once a second in each representation, however many clients read it and
//     whatever headers they send (document_representation.go). Callers take turns.
//
// Goroutines exist only for shared requests, which end with the response, and for the checks of Endpoints, which wait
// for them.
//
// The package stores no objects and generates no responses. PassThrough copies the upstream's own response, and adds
// the cause that old servers omit (toolarge.go).
package upstream
