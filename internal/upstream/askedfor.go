package upstream

import (
	"context"
	"net/http"
	"strings"
)

// What the upstream is asked for, in the words that observers are told. They hear of what is asked through a Client, a
// PassThrough or a Reviewer: not of the lists and watches of internal/rbac.
const (
	ForDocument    = "document"    // discovery, OpenAPI, the version, health
	ForPassThrough = "passthrough" // what a client asked for, in its name
	ForProbe       = "probe"       // the smallest consistent list, for a resourceVersion
	ForRead        = "read"        // a list, page by page or at once, or an object
	ForReview      = "review"      // who somebody is, or what he may do
	ForWatch       = "watch"
)

// passed marks the context of what is asked for a client.
type passed struct{}

func passing(ctx context.Context) context.Context { return context.WithValue(ctx, passed{}, true) }

// askedFor names what a request asks for.
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

// isObjects tells the path of a resource from those of documents. The upstream's address may have a path of its own.
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
