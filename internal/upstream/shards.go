package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// shardsFresh is how long an answer is used. An operator may enable the feature at any restart of kube-apiserver.
	shardsFresh = time.Minute
	shardsRetry = 10 * time.Second
)

// Shards finds out whether the upstream applies the shardSelector of lists and watches (KEP-5866). Without the feature
// gate ShardedListAndWatch, kube-apiserver ignores shard selectors. All callers share one request. Safe for concurrent
// use.
type Shards struct {
	client *Client
	flight singleflight.Group

	mu      sync.Mutex // guards the fields below
	next    time.Time  // time from which Applies sends a new request
	known   bool
	applies bool
	err     error
}

// NewShards returns a Shards for the client's upstream.
func NewShards(client *Client) *Shards { return &Shards{client: client} }

// Applies reports whether the upstream applies shard selectors. r is the resource of the caller's request. While the
// upstream cannot be asked, Applies returns the last answer, or an error if there is none.
func (s *Shards) Applies(ctx context.Context, r Resource) (bool, error) {
	s.mu.Lock()
	due := !time.Now().Before(s.next)
	s.mu.Unlock()
	if due {
		if err := askOnce(ctx, &s.flight, "", func(ctx context.Context) error { return s.ask(ctx, r) }); ctx.Err() != nil {
			return false, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known {
		return s.applies, nil
	}
	return false, fmt.Errorf("find out whether the upstream applies shard selectors: %w", s.err)
}

const everyShard = "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000')"

// ask requests an empty list with a shard selector. If the upstream applies the selector, the list of a built-in
// resource contains shardInfo. Lists of other resources never contain shardInfo. For these, and for a resource that the
// facade cannot list, ask lists namespaces. The answer therefore does not depend on the resource.
func (s *Shards) ask(ctx context.Context, r Resource) error {
	const namespaces = "/api/v1/namespaces"
	path := namespaces
	switch {
	case r.Custom || !r.Cacheable:
	case r.Namespaced:
		path = r.Path("default")
	default:
		path = r.Path("")
	}
	query := url.Values{"fieldSelector": {"metadata.name=" + nowhere}, "resourceVersion": {"0"}, "limit": {"1"},
		"shardSelector": {everyShard}}
	var list struct {
		Metadata struct{ ShardInfo *struct{ Selector string } }
	}
	text, err := s.client.Get(ctx, Target{Path: path, Query: query}, MediaJSON, maxErrorBody)
	if path != namespaces && HasCode(err, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed) {
		text, err = s.client.Get(ctx, Target{Path: namespaces, Query: query}, MediaJSON, maxErrorBody)
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err = err; err != nil {
		s.next = time.Now().Add(shardsRetry)
		return err
	}
	s.known, s.applies, s.next = true, list.Metadata.ShardInfo != nil, time.Now().Add(shardsFresh)
	return nil
}
