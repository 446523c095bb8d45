package upstream

import (
	"context"
	"net/http"
)

// MediaIssuer are the media types of the upstream's documents about service account tokens: JSON, and JSON with keys.
const MediaIssuer = MediaJSON + ", application/jwk-set+json"

// Issuer reads the upstream's documents about service account tokens.
type Issuer struct{ client *Client }

// Issuer returns a client of the same upstream, over the same connections.
func (r *Reviewer) Issuer() Issuer { return Issuer{client: r.client} }

// Get reads a path. It returns the code 200 and at most 1 MiB of body, or an error.
func (i Issuer) Get(ctx context.Context, path string) (int, []byte, error) {
	body, err := i.client.Get(ctx, Target{Path: path}, MediaIssuer, maxReview)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, body, nil
}
