// Package audit writes the audit log. An audit policy file in kube-apiserver's format selects the requests. Their
// events are written as audit.k8s.io/v1 events to a file that is rotated as in kube-apiserver, or to stdout.
//
// The package promises:
//   - A line has the bytes that kube-apiserver's log backend writes for the same event.
//   - In batch mode no request waits for the disk. Events are dropped, counted and logged when the buffer is full.
//   - Memory is bounded. The log contains no response bodies except the Status of errors. The levels Request and
//     RequestResponse therefore have the same content.
//
// docs/divergences.md lists the differences from kube-apiserver's log, apart from times and addresses.
//
// A Log is an observe.Observer. The goroutine of a request encodes the request's lines. In batch mode, a goroutine that
// Run starts writes them. In the other modes, the goroutine of the request writes them, under the lock of the output.
// When its context ends, Run waits at most ten seconds for the remaining writes. Each rotation starts a goroutine that
// removes and compresses files. Closing the log waits for these goroutines.
package audit
