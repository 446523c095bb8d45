package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/discovery"
)

type resource struct {
	schema.GroupVersionResource
}

func (r resource) path() string {
	if r.Group == "" {
		return "/api/" + r.Version + "/" + r.Resource
	}
	return "/apis/" + r.Group + "/" + r.Version + "/" + r.Resource
}

func (r resource) isSecret() bool { return r.Group == "" && r.Resource == "secrets" }

// discovered returns the named resources, or all that can be listed and watched, in the server's preferred versions.
// The error incomplete names the group versions that could not be read. The result all lacks their resources.
func (s *server) discovered(ctx context.Context, names []string) (all []resource, incomplete, err error) {
	served, err := discovery.Read(ctx, s.discover)
	if err != nil {
		return nil, nil, err
	}
	for _, group := range served.Groups {
		for _, v := range group.Preferred() {
			for _, r := range v.Resources {
				if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") {
					all = append(all, resource{v.WithResource(r.Name)})
				}
			}
		}
	}
	if len(names) > 0 {
		all, err = named(all, names)
	}
	slices.SortStableFunc(all, func(a, b resource) int {
		return strings.Compare(a.GroupResource().String(), b.GroupResource().String())
	})
	return all, served.Incomplete(), err
}

func (s *server) discover(ctx context.Context, path, accept string) ([]byte, error) {
	s.discovering.Lock()
	defer s.discovering.Unlock()
	a, err := s.get(ctx, path, nil, accept)
	var refused *refusal
	if errors.As(err, &refused) && refused.code == http.StatusNotFound {
		err = fmt.Errorf("%w: %w", discovery.ErrNotFound, err)
	}
	if err == nil && len(a.body) > discovery.Limit {
		err = fmt.Errorf("response to %s exceeds %d bytes", path, discovery.Limit)
	}
	return a.body, err
}

// named returns the resources with these names. A name without a group must be unique, unless the core group has it.
func named(all []resource, names []string) ([]resource, error) {
	var chosen []resource
	for _, name := range names {
		var found []resource
		for _, r := range all {
			if r.GroupResource().String() == name || r.Resource == name {
				found = append(found, r)
			}
		}
		if exact := slices.IndexFunc(found, func(r resource) bool { return r.GroupResource().String() == name }); exact >= 0 {
			found = found[exact : exact+1]
		}
		if len(found) != 1 {
			return nil, fmt.Errorf("%q matches %d resources that can be listed and watched, want 1", name, len(found))
		}
		chosen = append(chosen, found[0])
	}
	return chosen, nil
}
