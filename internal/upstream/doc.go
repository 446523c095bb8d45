// Package upstream is the road in: it reads one kube-apiserver and fills the cache with what it said.
//
// It promises:
//   - each lane costs the upstream one list and one watch, however many clients read from it;
//   - a watch that ends is resumed at the last resourceVersion that the lane is complete up to, after a jittered,
//     growing delay; nothing is skipped and what arrives twice is dropped by resourceVersion (I3);
//   - when the upstream no longer holds that resourceVersion (410), has been set back before it, or prints other columns, the
//     lane is listed again and a new epoch begins (I11);
//   - when a custom resource is redefined its lane ends, so that no request is parsed with another kind than its State's;
//   - what the upstream sends is believed only if it fits together: anything else is an error, tried again at growing
//     distances, while the lane keeps its last State;
//   - objects are cut out of the upstream's lists and frames as bytes and are never decoded;
//   - a State is called fresh only after the upstream proved it: by a probe (store.go), a roll call (rollcall.go) or a fence
//     (fence.go); which resources may share a probe is compared, never assumed (membership.go).
//
// Goroutines: Lanes.Run owns the janitor and one goroutine for each lane (reader.run), which is that lane's only writer; a
// reader owns the goroutines that cut its streams into changes, and waits for them. Questions that prove freshness run in
// goroutines of their lane, or of Lanes when lanes share them, so that a reader who leaves takes none along. Nothing is
// started by a constructor.
//
// The package never answers a client by itself, except that the pass-through copies the upstream's own answer, and names
// the cause in it that old servers leave out (toolarge.go). The package never changes anything upstream: it sends GETs, and
// the access reviews that internal/auth asks for.
package upstream
