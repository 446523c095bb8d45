package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Limit bounds one answer in bytes; ten thousand CRDs take less than a tenth of it.
const Limit = 64 << 20

// accept is what /api and /apis are asked for: aggregated discovery as servers have it since 1.30, since 1.26, and
// none.
const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," + plain

// plain is what the rest is asked for.
const plain = "application/json"

// ErrNotFound is wrapped by an Ask whose server answered with 404.
var ErrNotFound = errors.New("not found")

// Ask asks a server for a path and returns the body of a 200, of at most Limit bytes; all else is an error. It is
// called by several goroutines at once.
type Ask func(ctx context.Context, path, accept string) ([]byte, error)

// Read reads what a server serves. One that has no /api serves nothing there, as servers behind the aggregation layer.
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
	body, err := ask(ctx, path, accept)
	if err != nil {
		return err
	}
	var answer struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	// The body tells what was answered, whatever stands between.
	switch answer.Kind {
	case "APIGroupDiscoveryList":
		err = s.addAggregated(body)
	case "APIVersions", "APIGroupList":
		err = s.addEach(ctx, ask, path, body)
	default:
		err = fmt.Errorf("got a %q", answer.Kind)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
