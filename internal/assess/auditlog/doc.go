// Package auditlog reads audit logs of kube-apiserver: JSON lines of audit.k8s.io, plain or compressed with gzip.
//
// The package promises:
//   - Files.Each parses blocks of lines in parallel and passes their events to its caller, in any order. Its memory
//     does not depend on the size of the logs: a block has at most 4 MiB.
//   - A line that is not an audit event is counted, and the first such line is reported with file, number and reason.
//     Other lines are not affected.
//   - A file that ends in the middle, such as a truncated gzip file, is reported. The lines that were read count.
//   - No input causes a panic.
//
// Files.Each starts goroutines that cut blocks, parse them, and wait for the others. These goroutines end when
// Files.Each returns.
package auditlog
