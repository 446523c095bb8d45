// Package price estimates the CPU time that kube-apiserver and the facade need for requests. internal/assess predicts
// with it the CPU that a facade would save. internal/metrics estimates with it the CPU that a running facade has saved.
//
// The constants were measured by bench (docs/benchmarks.md), with pods of 11 kB in protobuf and 15 kB in JSON. On other
// machines, and with other objects, the CPU differs. A test checks that the constants agree with the figures in
// docs/benchmarks.md.
//
// All functions are pure. The package starts no goroutine and imports nothing of this module.
package price
