package upstream

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// styleWait bounds the request for an empty list, which a healthy upstream answers in milliseconds.
	styleWait = 10 * time.Second
	// styleGrace is how long one caller waits for the empty list.
	styleGrace = time.Second
	// styleErrorAge is how long the error of a failed request is returned again.
	styleErrorAge = time.Second
)

// styles finds out whether a resource is custom if APIServices do not show it. It requests one empty list of each
// resource. In the list of a custom resource, kube-apiserver writes the members in another order than in lists of
// built-in resources (jsonwire.LearnStyle). Safe for concurrent use.
type styles struct {
	client *Client
	flight singleflight.Group

	mu       sync.Mutex // guards the fields below; not held during requests
	kept     map[Resource]style
	mistaken map[schema.GroupVersionResource]bool // resources for which APIServices may be out of date
}

type style struct {
	custom bool
	err    error
	when   time.Time
}

func newStyles(client *Client) *styles {
	return &styles{client: client, kept: map[Resource]style{}, mistaken: map[schema.GroupVersionResource]bool{}}
}

// custom reports whether a resource is custom. Concurrent callers share one request, which continues when the context
// of one caller ends.
func (s *styles) custom(ctx context.Context, r Resource) (bool, error) {
	if known, ok := s.known(r); ok {
		return known.custom, known.err
	}
	done := s.flight.DoChan(r.GVR.String(), func() (any, error) {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), styleWait)
		defer cancel()
		return s.ask(detached, r), nil
	})
	grace := time.NewTimer(styleGrace)
	defer grace.Stop()
	select {
	case result := <-done:
		answer := result.Val.(style)
		return answer.custom, answer.err
	case <-grace.C:
		return false, errUnsettled
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (s *styles) known(r Resource) (style, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.kept[r]
	return known, ok && (known.err == nil || time.Since(known.when) < styleErrorAge)
}

func (s *styles) ask(ctx context.Context, r Resource) style {
	answer := style{when: time.Now()}
	list, err := s.client.EmptyList(ctx, r)
	if err != nil {
		answer.err = fmt.Errorf("find out whether %s is a custom resource: %w", r.GVR.GroupResource(), err)
	}
	answer.custom = list.Style.Custom
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[r] = answer
	return answer
}

// forget causes the next lookup to request an empty list, even if APIServices show whether the resource is custom.
func (s *styles) forget(gvr schema.GroupVersionResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.kept, func(r Resource, _ style) bool { return r.GVR == gvr })
	s.mistaken[gvr] = true
}

func (s *styles) trusts(gvr schema.GroupVersionResource) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.mistaken[gvr]
}

func (s *styles) retain(there func(schema.GroupVersionResource) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.kept, func(r Resource, _ style) bool { return !there(r.GVR) })
	maps.DeleteFunc(s.mistaken, func(gvr schema.GroupVersionResource, _ bool) bool { return !there(gvr) })
}
