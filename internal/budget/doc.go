// Package budget keeps the memory of the process below a limit, so that the kernel does not kill the process.
//
// # How it works
//
// The used memory is an estimate: the heap that the last garbage collection found live, plus the memory of the runtime
// outside the heap. The budget adds what has changed since that collection: memory reserved with Take, and each part
// that has an Account. These changes are exact but incomplete. The number from the garbage collection is complete but
// old. When much memory is used, the budget may therefore start a collection, at most once per second. New garbage does
// not count, because the runtime collects it before the memory reaches the limit (docs/adr/0019-memory-budget.md).
//
// When the used memory exceeds a share of the limit, the budget frees memory, in the order of the Steps: cheapest
// first. Each Step has its own share. Above RefuseAbove, Take refuses. Fits returns false if filling a lane would
// displace lanes that are in use.
//
// The package promises:
//   - Memory from Take is given back only once, even if the function that gives it back is called several times.
//   - Steps run in their order, one round at a time: once per second, and when Take finds too little memory.
//   - Without a limit, nothing is freed or refused, but memory is still counted.
//
// Run blocks in its caller's goroutine; the package starts none. The functions in an Account or a Step must not call
// the Budget, because the Budget may call these functions while it holds a lock.
//
// The package does not set the memory limit of the Go runtime.
package budget
