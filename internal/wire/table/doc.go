// Package table knows what a Table's columns and cells mean, as far as answers depend on it: which cells say how long
// ago something was, and what they say now. All other cells are served as the upstream printed them.
//
// Tables are JSON in every version of kube-apiserver, so cells and the objects that they are printed from are JSON
// here.
//
// It promises to be exact or to say that it is not (Ages.Frozen), and never to fail: what is malformed is passed on as
// it is. The package starts no goroutine and imports nothing of this module but the scanner of JSON.
package table
