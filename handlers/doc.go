// Package handlers is the front door: it reads each request once into an immutable Request, asks the authorizer, and answers
// GET, LIST and WATCH from the cache as kube-apiserver would have answered, to the byte.
//
// It promises:
//   - one parse: path, query and headers become a Request with kube-apiserver's own decoders (RequestInfoFactory, the
//     ListOptions codec, its content negotiation), and nothing below looks at the *http.Request again;
//   - nothing of the cache, not even whether an object exists, is looked at before the authorizer granted exactly what is
//     asked (grant.go is the only way to a lane);
//   - what the cache cannot answer or cannot prove, the upstream answers (forward.go): a request is never guessed;
//   - only reads are served; everything else gets kube-apiserver's 405;
//   - metav1.Status is built in errors.go and nowhere else.
//
// Goroutines: net/http's, one for each request, and one that reads from a websocket, which its request waits for. A watch ends when its client goes away, its time is
// over, the lane says so, or the server drains; then nothing of it is left behind.
package handlers
