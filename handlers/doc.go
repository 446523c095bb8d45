// Package handlers serves every request to the facade. Each request passes through the same steps. Each step is in the
// file with its name:
//
//	drain_check   refuses requests of a server that has shut down
//	resolve       reads the request once into a *Request, with kube-apiserver's own decoders
//	turns         lets few long-running requests begin at a time
//	authenticate  finds out who the caller is; refuses unauthenticated requests and impersonation
//	limiter       lets the request continue, queues it, or refuses it; caller_limits.go has the limits for callers
//	authorize     calls the authorizer; only then takes the seat of a watch, opens a lane, and waits while the lane is
//	              filled (await.go)
//	cache, discovery, health or forward
//	              responds from a lane, from a copy of a document, about the facade itself, or with the upstream's answer
//	reply         writes the response in pieces, with a time limit for each piece and for the response; seat.go releases
//	              the caller's seats when the client delays the response
//
// It promises:
//   - Each request is parsed once. After resolve, only authenticate, the readers of review bodies
//     and discovery, and the reply use the *http.Request.
//   - Before the authorizer has allowed exactly the requested attributes, nothing is read from the cache. Not even the
//     existence of an object is revealed. authorize.go has the only reference to the set of lanes.
//   - If the cache cannot answer, or cannot be confirmed fresh, the upstream answers (forward.go). A step returns
//     this decision as a route (route.go), never as an error. The cache never guesses. plan.go defines what a
//     resourceVersion means, and check_freshness.go waits for it.
//   - The facade's own credentials forward a request only if the cache may contain the objects, and the authorizer has
//     allowed it (credentials.go).
//   - A watch sends no event after its authorization is known to have ended. This applies to cached watches (watch.go)
//     and to forwarded ones (forwarded_watch.go).
//   - Only reads are served, self reviews, and the methods of the facade's own paths (Server.allowsMethod). All other
//     requests get kube-apiserver's 405.
//   - Only errors.go converts an error to a metav1.Status.
//   - Each request fills one observe.Event, which Observers receive at each stage of the request.
//   - Each request records its state in its Progress. /debug/clients, /debug/requests, /debug/watches (debug.go) and
//     the operator's page (operator_page.go) show the Event and the Progress of requests.
//
// Goroutines: net/http has one for each request. A watch over a websocket has two more. One reads from the websocket
// and ends before its request. The other waits for the end of the watch authorization. A forwarded watch also has one
// for the end of its authorization. A watch ends when its client is gone, its lifetime has passed, the lane ends it, or
// the server shuts down. Its goroutines end with it. Each write to a websocket's connection has a deadline, including
// responses to pings and the close message (takeover.go).
package handlers
