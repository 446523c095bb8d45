// Package table finds the cells of a Table that contain ages, and renders their current text. It leaves all other cells
// as the upstream sent them.
//
// No version of kube-apiserver sends a Table in protobuf. Therefore this package reads cells and objects only as JSON.
//
// The package promises to be exact, or to report that it is not (Ages.Frozen). It never fails: it copies malformed
// input unchanged. It starts no goroutine, and imports only package scan of this module.
package table
