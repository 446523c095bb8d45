package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/discovery"
	"github.com/listfacade/listfacade/internal/journal"
)

type named struct {
	group string
	discovery.Resource
}

// has reports whether a name in lower case is a name of the resource: plural, singular, short or the kind.
func (n *named) has(name string) bool {
	return name == n.Name || name == n.SingularName || name == strings.ToLower(n.Kind) ||
		slices.Contains(n.ShortNames, name)
}

// vocabulary contains the resources of a cluster in the order of discovery.
type vocabulary []named

// words returns the resources in the journal's discovery documents at a time, or nil if there are no documents.
func words(ctx context.Context, dir string, at time.Time) (vocabulary, error) {
	documents, err := journal.DocumentsAt(ctx, dir, at)
	if err != nil {
		return nil, fmt.Errorf("read discovery documents of the journal: %w", err)
	}
	served, err := discovery.Read(ctx, func(_ context.Context, path, accept string) ([]byte, error) {
		return document(documents, path, accept)
	})
	if errors.Is(err, discovery.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read discovery documents of the journal: %w", err)
	}
	var all vocabulary
	for _, group := range served.Groups {
		for _, v := range group.Preferred() {
			for _, r := range v.Resources {
				all = append(all, named{group.Name, r})
			}
		}
	}
	return all, nil
}

func document(all []journal.Document, path, accept string) ([]byte, error) {
	var body []byte
	for _, d := range all {
		if d.Path == path && (body == nil || d.Accept == accept) {
			body = d.Body
		}
	}
	if body == nil {
		return nil, fmt.Errorf("%s: %w", path, discovery.ErrNotFound)
	}
	return body, nil
}

// choose returns the span of the resource that a name means to kubectl: pods, po, Pod, deployments.apps or
// deployments.v1.apps. Without discovery documents, only the plural is known.
func (v vocabulary) choose(name string, spans []span) (span, error) {
	wanted, group := schema.ParseResourceArg(strings.ToLower(name))
	for _, r := range v {
		for _, s := range spans {
			if r.group != s.resource.Group || r.Name != s.resource.Resource {
				continue
			}
			if r.has(group.Resource) && (group.Group == "" || group.Group == r.group) ||
				wanted != nil && r.has(wanted.Resource) && wanted.Group == r.group {
				return s, nil
			}
		}
	}
	for _, s := range spans {
		if s.resource.String() == group.String() || s.resource.Resource == group.String() {
			return s, nil
		}
	}
	if strings.HasPrefix(group.Resource, "secret") && group.Group == "" {
		return span{}, fmt.Errorf("%s: %w: Secrets are never written to a journal", name, ErrNotRecorded)
	}
	return span{}, fmt.Errorf("%s: %w; recorded resources: %s", name, ErrNotRecorded, recorded(spans))
}

func recorded(spans []span) string {
	names := make([]string, len(spans))
	for i := range spans {
		names[i] = spans[i].resource.String()
	}
	return strings.Join(names, ", ")
}

// scoped reports whether the objects of a span are in namespaces. It returns true if this is not known.
func (v vocabulary) scoped(s *span) bool {
	for _, r := range v {
		if r.group == s.resource.Group && r.Name == s.resource.Resource {
			return r.Namespaced
		}
	}
	return true
}
