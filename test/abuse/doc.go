// Package abuse asks a facade too much: somebody guesses tokens, does not read what was asked for, speaks HTTP/2 in
// ways that no client does, or floods with requests. Whoever does that is refused or cut off, others are served
// meanwhile, and afterwards everything is as before.
//
// Tests whose names begin with a number are those of the list of attacks that the project was designed against. None
// of them says how long anything takes: a bound of time says that nothing hung. What others notice of a flood is
// measured by the benchmarks.
package abuse
