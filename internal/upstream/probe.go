package upstream

import (
	"context"
	"net/http"
	"net/url"

	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// nowhere is the name of an object that does not exist. kube-apiserver requires only that this name is a valid path
// segment.
const nowhere = "listfacade.probe"

// probe sends the consistent read that costs kube-apiserver least (semantics 10.4).
func (c *Client) probe(ctx context.Context, r Resource) ([]byte, http.Header, error) {
	target := r.EmptyListTarget()
	target.Query.Set("limit", "1")
	return c.ask(ctx, target)
}

func (c *Client) ask(ctx context.Context, target Target) ([]byte, http.Header, error) {
	return c.getWithHeader(ctx, target, MediaJSON, maxErrorBody)
}

// EmptyListTarget returns the target of a list that matches no object. kube-apiserver reads only one key for it.
func (r Resource) EmptyListTarget() Target {
	namespace := ""
	if r.Namespaced {
		namespace = "default"
	}
	return Target{Path: r.Path(namespace), Query: url.Values{"fieldSelector": {"metadata.name=" + nowhere}}}
}

// ResourceVersion returns the resource's current resourceVersion at some moment after the call began.
func (c *Client) ResourceVersion(ctx context.Context, r Resource) (string, error) {
	body, _, err := c.probe(ctx, r)
	if err != nil {
		return "", err
	}
	return jsonwire.ListVersion(body)
}

// EmptyList contains the properties of a resource's lists, as an empty list shows them.
type EmptyList struct {
	ResourceVersion string
	Style           jsonwire.Style
	Warnings        []string // Warning headers, which each response of a deprecated API has
}

// EmptyList requests a consistent list without objects.
func (c *Client) EmptyList(ctx context.Context, r Resource) (EmptyList, error) {
	body, header, err := c.probe(ctx, r)
	if err != nil {
		return EmptyList{}, err
	}
	return readEmptyList(body, header)
}

// CachedEmptyList requests an empty list from the upstream's cache. The list has the resourceVersion of the cache.
func (c *Client) CachedEmptyList(ctx context.Context, r Resource) (EmptyList, error) {
	target := r.EmptyListTarget()
	target.Query.Set("resourceVersion", "0")
	body, header, err := c.ask(ctx, target)
	if err != nil {
		return EmptyList{}, err
	}
	return readEmptyList(body, header)
}

func readEmptyList(body []byte, header http.Header) (EmptyList, error) {
	version, err := jsonwire.ListVersion(body)
	if err != nil {
		return EmptyList{}, err
	}
	style, err := jsonwire.LearnStyle(body)
	return EmptyList{ResourceVersion: version, Style: style, Warnings: header.Values("Warning")}, err
}
