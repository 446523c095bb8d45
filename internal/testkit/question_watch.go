package testkit

import (
	"net/url"
	"strconv"
	"strings"
)

// Collection returns the resource of a question, and the path of its collection in the question's namespace. Both are
// empty if the question is not for a resource.
func (q Question) Collection() (resource, path string) {
	info, _ := q.info()
	if info == nil {
		return "", ""
	}
	head, _, _ := strings.Cut(q.listPath(), "/"+info.Resource)
	return info.Resource, head + "/" + info.Resource
}

// StartsAtVersion reports whether a watch starts after a version that it names, without initial events.
func (q Question) StartsAtVersion() bool {
	f, err := newFilter(q)
	return err == nil && !f.initial && f.start > 0
}

// StartsFromCache reports whether the initial events of a watch depend on the state of the cache that answers.
func (q Question) StartsFromCache() bool {
	f, err := newFilter(q)
	_, query := q.info()
	consistent := query.Get("resourceVersion") == "" && (f == nil || !f.byPath)
	return err != nil || !q.StartsAtVersion() && !consistent
}

// From returns the question of a watch that resumes after a version.
func (q Question) From(version uint64) Question {
	path, raw, _ := strings.Cut(q.Path, "?")
	query, _ := url.ParseQuery(raw) // malformed parameters are ignored
	for _, name := range []string{"sendInitialEvents", "resourceVersionMatch"} {
		query.Del(name)
	}
	query.Set("resourceVersion", strconv.FormatUint(version, 10))
	q.Path = path + "?" + query.Encode()
	return q
}
