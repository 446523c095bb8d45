// Package audit writes the audit log: audit.k8s.io/v1 events as kube-apiserver writes them, of the requests that a
// policy file of kube-apiserver's selects, into a file that is rotated as kube-apiserver's is, or to stdout.
//
// It promises that a line has the bytes that kube-apiserver's log backend would write for the same event, and that in
// batch mode no request waits for the disk: what finds no room among the lines that wait is dropped, counted and said.
// Memory is bounded: a line holds nothing of an answer but an error's Status, so that the levels Request and
// RequestResponse have what a read has of them without its answer. Times and addresses apart, what else differs from
// kube-apiserver's own log stands in docs/divergences.md.
//
// A Log is an observe.Follower. Run starts the goroutine that writes and waits for it, but for no longer than ten
// seconds once it is to end; nothing else here starts one, but for the compression of a file that is full, which that
// waits for. Events are told by the goroutines of their requests, each of which makes its own lines; the lock of the
// output is held while one is written.
package audit
