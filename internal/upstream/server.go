package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
)

// ServerVersion returns the JSON of the upstream's /version.
func (c *Client) ServerVersion(ctx context.Context) ([]byte, error) {
	return c.Get(ctx, Target{Path: "/version"}, MediaJSON, maxErrorBody)
}

// HealthChecks returns the text of the upstream's /livez?verbose, which lists each health check with its outcome.
func (c *Client) HealthChecks(ctx context.Context) ([]byte, error) {
	return c.Get(ctx, Target{Path: "/livez", Query: url.Values{"verbose": {""}}}, "*/*", maxErrorBody)
}

// clusterPath is the path of an object that every cluster has.
const clusterPath = "/api/v1/namespaces/kube-system"

// ClusterUID returns the UID that identifies the cluster. The UID stays the same when a cluster is restored from a
// backup.
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
