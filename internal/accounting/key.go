package accounting

import (
	"hash/maphash"
	"strings"

	"github.com/listfacade/listfacade/internal/observe"
)

// Key describes a kind of request and the source of its response. Requests with equal keys are counted together.
type Key struct {
	User      string `json:"user"`
	UserAgent string `json:"userAgent"`
	Verb      string `json:"verb"`
	// Group, Version, Resource and Subresource are as in the path. If the path contains no resource, Resource is one of
	// knownPaths, such as /healthz, or a slash.
	Group       string `json:"group,omitempty"`
	Version     string `json:"version,omitempty"`
	Resource    string `json:"resource,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	Scope       string `json:"scope,omitempty"` // resource, namespace or cluster
	// Selector is the shape of the selectors; empty if there are none.
	Selector string `json:"selector,omitempty"`
	// Mode is MostRecent, Any, NotOlderThan or Exact; empty if the cache was not read.
	Mode   string `json:"resourceVersionMode,omitempty"`
	Source string `json:"source"` // cache, upstream or facade
}

// Others replaces user agents, selectors and unknown resources that are no longer counted separately.
const Others = "(others)"

// Maximum lengths of the texts of a key, in bytes. A user agent that was cut still begins with the name of the program.
const (
	mostText  = 128
	mostWords = 64
)

// keyOf returns the key of an event. Its texts share memory with the event.
func keyOf(e *observe.Event) Key {
	k := Key{
		User: cut(e.User, mostText), UserAgent: cut(e.UserAgent, mostText), Verb: verbOf(e), Scope: e.Scope,
		Mode: e.Plan, Source: string(e.Source),
	}
	if e.Scope == "" {
		k.Resource = slotOf(e.URI)
		return k
	}
	k.Group, k.Version, k.Resource = cut(e.Group, mostWords), cut(e.Version, mostWords), cut(e.Resource, mostWords)
	k.Subresource, k.Selector = cut(e.Subresource, mostWords), cut(e.Selector, mostText)
	return k
}

func cut(text string, most int) string {
	if len(text) > most {
		return text[:most]
	}
	return text
}

// verbOf returns the event's verb, or "other" if it is not a verb of Kubernetes.
func verbOf(e *observe.Event) string {
	switch e.Verb {
	case "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy":
		return e.Verb
	}
	return "other"
}

// knownPaths are the paths that a key can show for a request without a resource. For any other path, the key has a
// slash.
var knownPaths = []string{
	"/metrics", "/healthz", "/livez", "/readyz", "/debug", "/openapi", "/version", "/apis", "/api", "/.well-known",
	"/openid",
}

func slotOf(uri string) string {
	for _, path := range knownPaths {
		if rest, ok := strings.CutPrefix(uri, path); ok && (rest == "" || rest[0] == '/' || rest[0] == '?') {
			return path
		}
	}
	return "/"
}

// digest returns a 64-bit hash of a key. The seed is secret and specific to this process, so clients cannot construct
// collisions. Accidental collisions in a summary occur about once in 10^14 minutes.
func (k *Key) digest(seed maphash.Seed) uint64 {
	const spread = 0x9e3779b97f4a7c15 // odd, which makes the multiplication invertible
	h := maphash.String(seed, k.User)
	for _, text := range [...]string{
		k.UserAgent, k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope, k.Selector, k.Mode, k.Source,
	} {
		h = (h<<29|h>>35)*spread ^ maphash.String(seed, text)
	}
	return h
}

func (k *Key) texts() []*string {
	return []*string{
		&k.User, &k.UserAgent, &k.Verb, &k.Group, &k.Version, &k.Resource, &k.Subresource, &k.Scope, &k.Selector, &k.Mode,
		&k.Source,
	}
}

// kept returns a copy of the key for a summary. Its texts are printable, and share no memory with a request.
func (k *Key) kept() *Key {
	own := *k
	for _, text := range own.texts() {
		*text = strings.Clone(observe.Printable(*text, mostText))
	}
	return &own
}
