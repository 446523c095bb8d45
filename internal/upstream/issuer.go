package upstream

import (
	"context"
	"net/http"
)

// MediaIssuer are the media types of the documents that Issuer reads: JSON, and JSON with keys.
const MediaIssuer = MediaJSON + ", application/jwk-set+json"

// Issuer reads the upstream's documents about the keys of service account tokens.
type Issuer struct{ client *Client }

// Issuer returns an Issuer that uses the reviewer's connections.
func (r *Reviewer) Issuer() Issuer { return Issuer{client: r.client} }

// Get reads a path. It returns the code 200 and the body, or an error. A body above 1 MiB is an error.
func (i Issuer) Get(ctx context.Context, path string) (int, []byte, error) {
	body, err := i.client.Get(ctx, Target{Path: path}, MediaIssuer, maxReview)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, body, nil
}
