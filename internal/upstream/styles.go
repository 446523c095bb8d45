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
	// styleWait is how long the upstream may take to show what lists of a resource look like; it takes milliseconds
	// when well.
	styleWait = 10 * time.Second
	// styleGrace is how long one caller waits for that: as long as for a lane that has just been started.
	styleGrace = time.Second
	// styleErrorAge is how long the failure of such a question is believed.
	styleErrorAge = time.Second
)

// styles finds out which resources are custom where APIServices do not tell: kube-apiserver writes lists of custom
// resources in another order of members than those of built-in ones (jsonwire.LearnStyle). A resource is asked for
// once.
type styles struct {
	client *Client
	flight singleflight.Group

	mu       sync.Mutex // guards the rest; not held while the upstream is asked
	kept     map[Resource]style
	mistaken map[schema.GroupVersionResource]bool // what was said of it without asking turned out to be wrong
}

// style is the answer to one question.
type style struct {
	custom bool
	err    error
	when   time.Time
}

func newStyles(client *Client) *styles {
	return &styles{client: client, kept: map[Resource]style{}, mistaken: map[schema.GroupVersionResource]bool{}}
}

// custom tells whether a resource is custom. Callers at the same time share one question, which no single caller's
// context ends.
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

// forget makes the resource be asked for again, whatever is said of it elsewhere.
func (s *styles) forget(gvr schema.GroupVersionResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.kept, func(r Resource, _ style) bool { return r.GVR == gvr })
	s.mistaken[gvr] = true
}

// believes tells whether what is said of a resource need not be asked.
func (s *styles) believes(gvr schema.GroupVersionResource) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.mistaken[gvr]
}

// retain drops what is known of resources that are not there any more.
func (s *styles) retain(there func(schema.GroupVersionResource) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.kept, func(r Resource, _ style) bool { return !there(r.GVR) })
	maps.DeleteFunc(s.mistaken, func(gvr schema.GroupVersionResource, _ bool) bool { return !there(gvr) })
}
