// Package table finds the cells of a Table that contain ages, and renders their current text. All other cells are
// served as the upstream sent them.
//
// No version of kube-apiserver sends a Table in protobuf. Therefore this package reads cells and objects only as JSON.
//
// The package promises to be exact, or to report that it is not (Ages.Frozen). It never fails: malformed input is
// copied unchanged. It starts no goroutine, and imports only package scan of this module.
package table
