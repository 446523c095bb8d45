// Package manifests embeds the YAML files that are applied to a development cluster.
package manifests

import "embed"

// Files holds users.yaml, which every cluster gets, kwok-stages.yaml, which is kwok's configuration, and demo/*.yaml.
//
//go:embed *.yaml demo/*.yaml
var Files embed.FS

// Patterns that pick files of Files.
const (
	Users  = "users.yaml"
	Stages = "kwok-stages.yaml"
	Demo   = "demo/*.yaml"
)
