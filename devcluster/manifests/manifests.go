// Package manifests embeds the YAML files that are applied to a development cluster.
package manifests

import "embed"

// Files contains users.yaml for every cluster, kwok-stages.yaml for kwok, and the demo objects.
//
//go:embed *.yaml demo/*.yaml
var Files embed.FS

// Patterns of files in Files.
const (
	Users  = "users.yaml"
	Stages = "kwok-stages.yaml"
	Demo   = "demo/*.yaml"
)
