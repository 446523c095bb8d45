package upstream

import (
	"context"
	"time"
)

const reviewsPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

const reviewWait = 5 * time.Second // for all reviews of one resource

// Denies reports whether the kubeconfig user lacks permission to list or to watch all objects of a resource. It fails
// when Has fails.
func (c *Client) Denies(ctx context.Context, r Resource) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewWait)
	defer cancel()
	for _, verb := range []string{"list", "watch"} {
		has, err := c.Has(ctx, Right{Verb: verb, Group: r.GVR.Group, Version: r.GVR.Version, Resource: r.GVR.Resource})
		if err != nil || !has {
			return err == nil, err
		}
	}
	return false, nil
}
