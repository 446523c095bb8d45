package upstream

import (
	"context"
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
