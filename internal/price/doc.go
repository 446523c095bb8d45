// Package price estimates the CPU time that kube-apiserver and the facade need for requests. internal/assess uses it to
// predict what a facade would save, and internal/metrics to estimate what a facade has saved.
//
// The constants were measured by bench (docs/benchmarks.md), with pods of 11 kB in protobuf and 15 kB in JSON. On other
// machines, and with other objects, the CPU differs. A test checks that the constants agree with the figures in
// docs/benchmarks.md.
//
// All functions are pure. The package starts no goroutine and imports nothing of this module.
package price
