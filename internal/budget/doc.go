// Package budget keeps the memory of the process below a limit, which prevents the kernel from killing it.
//
// # How it works
//
// The used memory is an estimate: the heap that the last garbage collection found live, plus the memory of the runtime
// outside the heap. Changes of the bytes that callers have taken since then are added. These changes are exact but
// incomplete. The number from the garbage collection is complete but old. The budget therefore starts a collection when
// the difference matters, at most once per second. Garbage does not count, because the runtime collects it before the
// memory reaches the limit (docs/adr/0019-memory-has-a-budget.md).
//
// When the used memory exceeds a share of the limit, the budget frees memory, in the order of the Steps: cheapest
// first. Each Step has its own share. Above RefuseAbove, Take refuses new large responses and watches. Fits returns
// false if filling a lane would displace lanes that are in use.
//
// The package promises:
//   - Memory from Take is returned once, even if give is called several times.
//   - Steps run in their order, one round at a time, once per second. If Take finds not enough memory, a round runs
//     immediately.
//   - Without a limit, nothing is freed or refused, but memory is still counted.
//
// Run blocks in its caller's goroutine; the package starts none. Accounts and steps are functions of the caller. They
// are called without a lock that an account needs, and must not call the Budget.
//
// The package imports no other package of this module. It blocks a caller for at most one round, and does not set the
// memory limit of the Go runtime.
package budget
