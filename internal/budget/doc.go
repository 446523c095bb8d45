// Package budget keeps the memory of the process below a limit, so that it is never killed for taking too much.
//
// # How it works
//
// What is used is what the last garbage collection found live and what the runtime needs beside the heap, corrected by
// what the accounts say has come and gone since: accounts are exact and know nothing of what nobody counts; the
// collector knows everything and is late, so it is called where that makes a difference, once a second at most. Garbage
// does not count: the runtime collects it before the limit (docs/adr/0019-memory-has-a-budget.md).
//
// Where more is used than a share of the limit, something is let go, the cheapest first: each Step has a share of its
// own. Above the last share nothing begins that takes much: Take refuses it. And a lane that is being filled is told to
// stop before other lanes, which are in use, would have to go for it (Fits).
//
// It promises:
//   - what was taken is given back once, however often its giver is called;
//   - steps are taken in their order, one round at a time, once a second, and at once when something large finds no
//     memory;
//   - without a limit nothing is let go and nothing refused, and what is taken is counted all the same.
//
// Run is the only goroutine, and belongs to who calls it. Accounts and steps are functions of others; they are called
// without any lock that an account needs, and must not call the Budget.
//
// The package knows no lane, no list and no request, never blocks who asks for longer than a round takes, and sets no
// limit of the runtime's.
package budget
