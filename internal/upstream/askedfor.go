package upstream

import (
	"context"
	"net/http"
	"strings"
)

// Kinds of requests to the upstream, as Observer receives them. The lists and watches of internal/rbac and the requests
// of AnonymousClient are not observed.
const (
	ForDocument    = "document"    // discovery, OpenAPI, version, health, metrics
	ForPassThrough = "passthrough" // forwarded request of a client
	ForProbe       = "probe"       // list that matches no object
	ForRead        = "read"        // list, page of a list, or single object
	ForReview      = "review"      // TokenReview or access review
	ForWatch       = "watch"
)

type passed struct{}

func passing(ctx context.Context) context.Context { return context.WithValue(ctx, passed{}, true) }

func askedFor(r *http.Request) string {
	query := r.URL.RawQuery
	switch {
	case r.Context().Value(passed{}) != nil:
		return ForPassThrough
	case r.Method == http.MethodPost:
		return ForReview
	case strings.Contains(query, nowhere):
		return ForProbe
	case strings.Contains(query, "watch=1"):
		return ForWatch
	case isObjects(r.URL.Path):
		return ForRead
	}
	return ForDocument
}

// isObjects reports whether a path addresses a resource or object. The upstream's address may have a path prefix.
func isObjects(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, part := range parts {
		switch part {
		case "api":
			return len(parts) > i+2 // version, resource
		case "apis":
			return len(parts) > i+3 // group, version, resource
		}
	}
	return false
}
