// Package handlers is the front door. Every request takes the same road, station by station, each in a file of its
// name:
//
//	resolve       reads the request once into a *Request, with kube-apiserver's own decoders
//	authenticate  says who asks; nobody is 401, and who asks in another's name is refused
//	limit         says whether it may go on now, holds callers to their shares (limits.go), refuses what is large
//	              where memory is short, and bounds what is passed through at a time
//	authorize     asks the authorizer, and only then takes a watch's place, opens a lane, and waits for one that is
//	              being filled (await.go)
//	cache, discovery, health or forward
//	              give the answer: from a lane, from a kept document, about the facade itself, or the upstream's own
//	reply         writes it, piece by piece, each in time, and all of them in the request's; what the request holds of
//	              its caller's share it gives back when its client holds up the writing (seat.go)
//
// It promises:
//   - one parse: behind resolve only the reply, which is the connection, knows the *http.Request;
//   - nothing of the cache, not even whether an object exists, is looked at before the authorizer granted exactly what
//     is asked: the gate of authorize.go is the only holder of the set of lanes;
//   - what the cache cannot answer or cannot prove, the upstream answers (forward.go): a request is never guessed. What
//     a resourceVersion means stands in plan.go, how it is waited for and proven in check_freshness.go; in whose name
//
// it is asked
//
//	  in credentials.go: never in the facade's own for what the cache may not hold or the authorizer has not granted;
//	- a watch sends no event after the right to it is known to be gone, from a lane (watch.go) or passed through
//	  (forwarded_watch.go);
//	- only reads are served; everything else gets kube-apiserver's 405;
//	- metav1.Status is built in errors.go and nowhere else;
//	- each request fills one observe.Event, which the sinks are told of when it is over, and whoever counts what is
//	  under way (live.go) before; it marks in its Progress how far it is; /debug/clients, /debug/requests and
//	  /debug/watches (debug.go) look at both, and so does the operator's page (status.go).
//
// Goroutines: net/http's, one for each request, one that reads from a websocket, which its request waits for, and one
// that waits for the end of the right to a watch over a websocket. A watch ends when its client goes away, its time is
// over, the lane says so, or the server drains; then nothing of it is left behind. Each write on a connection that a
// websocket has taken over has a deadline, answers to pings and the close included (takeover.go).
package handlers
