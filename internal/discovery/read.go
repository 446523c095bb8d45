package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Limit is the maximum size of a response in bytes. The discovery of 10,000 CRDs needs about a tenth of it.
const Limit = 64 << 20

// Accept is the Accept header for /api and /apis. It prefers aggregated discovery of Kubernetes 1.30 and later, then
// aggregated discovery of 1.26 and later, then plain discovery.
const Accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," + plain

// plain is the Accept header for all other paths.
const plain = "application/json"

// ErrNotFound must be wrapped by the error of an Ask if the server responded with 404.
var ErrNotFound = errors.New("not found")

// Ask requests a path from a server and returns the body of a 200, of at most Limit bytes. For all other responses, it
// returns an error. It must be safe for concurrent use.
type Ask func(ctx context.Context, path, accept string) ([]byte, error)

// Read reads the groups, versions and resources of a server. A server without /api has no core group, which is normal
// for aggregated API servers.
func Read(ctx context.Context, ask Ask) (*Served, error) {
	var served Served
	if err := served.readRoot(ctx, ask, "/api"); err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	if err := served.readRoot(ctx, ask, "/apis"); err != nil {
		return nil, err
	}
	return &served, nil
}

func (s *Served) readRoot(ctx context.Context, ask Ask, path string) error {
	body, err := ask(ctx, path, Accept)
	if err != nil {
		return err
	}
	var answer struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	// The kind is read from the body, because proxies may change the Content-Type.
	switch answer.Kind {
	case "APIGroupDiscoveryList":
		err = s.addAggregated(body)
	case "APIVersions", "APIGroupList":
		err = s.addEach(ctx, ask, path, body)
	default:
		err = fmt.Errorf("got kind %q, want APIGroupDiscoveryList, APIVersions or APIGroupList", answer.Kind)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
