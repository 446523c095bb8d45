package accounting

import (
	"hash/maphash"
	"strings"

	"github.com/listfacade/listfacade/internal/observe"
)

// Key says who asks for what, and who answers. Requests with equal keys are counted together.
type Key struct {
	User      string `json:"user"`
	UserAgent string `json:"userAgent"`
	Verb      string `json:"verb"`
	// Group, Version, Resource and Subresource are as in the path; Resource begins with a slash where the path is no
	// resource's.
	Group       string `json:"group,omitempty"`
	Version     string `json:"version,omitempty"`
	Resource    string `json:"resource,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	Scope       string `json:"scope,omitempty"` // resource, namespace or cluster
	// Selector is the shape of the selectors; empty where there are none.
	Selector string `json:"selector,omitempty"`
	// Mode is MostRecent, Any, NotOlderThan or Exact; empty where the cache was not asked.
	Mode   string `json:"resourceVersionMode,omitempty"`
	Source string `json:"source"` // cache, upstream or facade
}

// Others stands for what is no longer told apart.
const Others = "(others)"

// How long the texts of a key may be, in bytes. Agents say what they are first.
const (
	mostText  = 128
	mostWords = 64
)

// keyOf is the key of an event. Its texts are parts of the event's.
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

// verbOf is one of a closed set.
func verbOf(e *observe.Event) string {
	switch e.Verb {
	case "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy":
		return e.Verb
	}
	return "other"
}

// places are what paths that are no resource's may be about.
var knownPaths = []string{
	"/metrics", "/healthz", "/livez", "/readyz", "/debug", "/openapi", "/version", "/apis", "/api", "/.well-known", "/openid",
}

func slotOf(uri string) string {
	for _, place := range knownPaths {
		if rest, ok := strings.CutPrefix(uri, place); ok && (rest == "" || rest[0] == '/' || rest[0] == '?') {
			return place
		}
	}
	return "/"
}

// digest is a key in 64 bits. The seed is secret and of this process alone, so nobody can make two keys one; that two
// of a summary's are one by chance happens once in 10^14 minutes.
func (k *Key) digest(seed maphash.Seed) uint64 {
	const spread = 0x9e3779b97f4a7c15 // odd, so that no part is lost
	h := maphash.String(seed, k.User)
	for _, text := range [...]string{
		k.UserAgent, k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope, k.Selector, k.Mode, k.Source,
	} {
		h = (h<<29|h>>35)*spread ^ maphash.String(seed, text)
	}
	return h
}

// texts are all of a key's.
func (k *Key) texts() []*string {
	return []*string{
		&k.User, &k.UserAgent, &k.Verb, &k.Group, &k.Version, &k.Resource, &k.Subresource, &k.Scope, &k.Selector, &k.Mode, &k.Source,
	}
}

// kept is a key that may stay: its texts are its own, and nothing of a request's memory, and may be shown.
func (k *Key) kept() *Key {
	own := *k
	for _, text := range own.texts() {
		*text = strings.Clone(observe.Printable(*text, mostText))
	}
	return &own
}
