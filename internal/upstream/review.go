package upstream

import (
	"context"
	"time"
)

// reviewsPath takes questions about what the facade's own user may do.
const reviewsPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// reviewWait is how long the upstream may take to say what the facade may do.
const reviewWait = 5 * time.Second

// Denies asks the upstream's authorizer whether it denies the facade's user to list or to watch all objects of a
// resource. An error means that it did not say: it could not be asked, does not know who asks, or could not evaluate
// all rules.
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
