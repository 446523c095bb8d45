// Package deploy deploys a facade into a real cluster as the documentation describes: with the service account of the
// manifests, and with only the rights that they grant.
//
// The tests share one cluster.
package deploy
