// Package upstream is access to one kube-apiserver: a Client that asks it, the Catalog of what it serves, its
// Documents, and PassThrough for what the facade leaves to it.
//
// Reviewer asks who callers are and what they may do, apart from the rest: its clock is its own, and so are its
// credentials and connections.
//
// Fields knows by which fields the upstream selects, where not every release of it does. Endpoints are its addresses
// where it has several, of which one is asked at a time.
//
// Client.Follow reads every object and change of a small resource, for who needs to be told of them.
//
// Which group versions another server answers for the Catalog follows by one watch of APIServices (aggregation.go); one
// without an APIService is not taken for the upstream's own.
//
// It promises:
//   - nothing upstream is ever changed: it sends GETs, reviews, its own and those of internal/auth, and the reviews
//     that clients send (question.go);
//   - what it asks names the facade, and those that it came through (hop.go), so that an upstream which is the facade
//     itself is noticed;
//   - how long the upstream has answered nobody is one clock for all who ask it through a Client (outage.go);
//   - every answer is bounded in time and bytes, but those that are passed through; so is what is kept of them;
//   - no request leaves for a place other than the one upstream and its endpoints, or in another name than its
//     Credentials's; the bearer tokens of clients and the facade's credentials share no connection;
//   - what the upstream refuses the facade's own user is not answered to somebody else (refusal.go);
//   - what kube-apiserver knows of itself (catalog, documents) is asked for at most once a second in each form that it
//     has, however many clients ask, and whatever their headers say (document_representation.go); callers take turns.
//
// Goroutines: none but those that share one question among callers, which end with its answer, and those by which
// Endpoints.Run looks at all endpoints at once, which it waits for.
//
// It keeps no objects and answers no client by itself, except that PassThrough copies the upstream's own answer, and
// names the cause in it that old servers leave out (toolarge.go).
package upstream
