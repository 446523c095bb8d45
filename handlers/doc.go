// Package handlers serves every request to the facade. handler_chain.go passes each request through these steps. Each
// step is in the file with its name:
//
//	drain_check   refuses requests in the last stage of the shutdown
//	resolve       reads the request once into a *Request, with kube-apiserver's own decoders
//	turns         limits how many long-running requests begin at the same time
//	authenticate  identifies the caller, and refuses unauthenticated requests
//	limiter       admits the request, queues it, or refuses it; caller_limits.go has the limits for callers
//	authorize     calls the authorizer, and then opens the lane; await.go waits while the lane is filled
//	reply         writes the response in pieces, with a time limit for each piece; seat.go releases the seats of a
//	              request when its client delays the response
//
// After authorize, one of four steps answers the request:
//
//	cache         answers from the lane
//	discovery     answers with a copy of a document of the upstream
//	health        answers about the facade itself; router.go has the other paths about the facade
//	forward       lets the upstream answer
//
// The package promises:
//   - Each request is parsed once. Later steps use the *Request. They use the *http.Request only for credentials, the
//     body of a review, the media type and the reply.
//   - Nothing is read from the cache before the authorizer has allowed exactly the requested attributes. Until then,
//     not even the existence of an object is revealed. Only authorize.go opens lanes.
//   - If the cache cannot answer as kube-apiserver would, the request is forwarded, or gets an error. A step returns
//     the decision to forward as a route (route.go), never as an error. plan.go defines what a resourceVersion means,
//     and check_freshness.go waits until a lane is fresh enough.
//   - No request reads a State of a lane that is known to be wrong (Lane.Contradicted), except lists and gets at
//     version 0. Any other request is forwarded, or waits until the lane is listed again (stateFor, Server.cache).
//   - With authentication, a request is forwarded with the facade's credentials only if the authorizer has allowed it,
//     and only for objects and documents that the cache may contain (credentials.go).
//   - A watch sends no event after its authorization is known to have ended. This applies to cached watches (watch.go)
//     and to forwarded ones (forwarded_watch.go).
//   - Only reads, reviews, and the methods of the facade's own paths are served (Request.allowsMethod). Other methods
//     get kube-apiserver's 405.
//   - Only errors.go converts an error to a metav1.Status.
//   - Each request fills one observe.Event, which the Observer receives at each stage of the request. Its Progress
//     shows other goroutines the state of the request (/debug/requests, /debug/watches, the operator's page).
//
// Goroutines: net/http has one for each request. A watch over a websocket has another one that reads from the
// websocket. Watches over a websocket, and forwarded watches, have one that waits for the end of the watch
// authorization. At shutdown, each watch gets one that ends the watch (watch_termination.go). These goroutines end with
// their watch.
package handlers
