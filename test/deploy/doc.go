// Package deploy brings a facade into a real cluster the way it is documented: as the service account that the
// manifests make, with no right more than they give.
//
// The tests share one cluster.
package deploy
