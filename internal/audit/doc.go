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
// A Log is an observe.Observer. The goroutines of requests encode their own lines. In batch mode the goroutine of Run
// writes them. In the other modes the goroutine of the request writes its line, under the lock of the output. When its
// context ends, Run waits at most ten seconds for the remaining writes. Rotation starts one more goroutine, which
// compresses files. Closing the file waits for that goroutine.
package audit
