package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
)

// ServerVersion is what the upstream says of its own version: the JSON of /version.
func (c *Client) ServerVersion(ctx context.Context) ([]byte, error) {
	return c.Get(ctx, Target{Path: "/version"}, MediaJSON, maxErrorBody)
}

// HealthChecks lists the upstream's health checks, each with its outcome: the text of /livez?verbose.
func (c *Client) HealthChecks(ctx context.Context) ([]byte, error) {
	return c.Get(ctx, Target{Path: "/livez", Query: url.Values{"verbose": {""}}}, "*/*", maxErrorBody)
}

// clusterPath is an object that every cluster has, and none has twice: its UID stands for the cluster's own.
const clusterPath = "/api/v1/namespaces/kube-system"

// ClusterUID tells clusters apart. One that was restored from a backup keeps its own.
func (c *Client) ClusterUID(ctx context.Context) (string, error) {
	body, err := c.Get(ctx, Target{Path: clusterPath}, MediaJSON, maxErrorBody)
	if err != nil {
		return "", err
	}
	var namespace struct{ Metadata struct{ UID string } }
	if err := json.Unmarshal(body, &namespace); err != nil {
		return "", fmt.Errorf("read %s: %w", clusterPath, err)
	}
	if namespace.Metadata.UID == "" {
		return "", errors.New(clusterPath + " has no UID")
	}
	return namespace.Metadata.UID, nil
}
