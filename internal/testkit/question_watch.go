package testkit

import (
	"net/url"
	"strconv"
	"strings"
)

// Collection is the resource that a question is about, and the path of its collection in the namespace that the
// question names; both are empty if it is about none.
func (q Question) Collection() (resource, path string) {
	info, _ := q.info()
	if info == nil {
		return "", ""
	}
	head, _, _ := strings.Cut(q.listPath(), "/"+info.Resource)
	return info.Resource, head + "/" + info.Resource
}

// StartsAtVersion tells whether a watch begins behind a version that it names, without initial events.
func (q Question) StartsAtVersion() bool {
	f, err := newFilter(q)
	return err == nil && !f.initial && f.start > 0
}

// StartsFromCache tells whether what a watch begins with depends on how far the cache is that answers.
func (q Question) StartsFromCache() bool {
	f, err := newFilter(q)
	_, query := q.info()
	consistent := query.Get("resourceVersion") == "" && (f == nil || !f.byPath)
	return err != nil || !q.StartsAtVersion() && !consistent
}

// From is the watch that goes on behind a version.
func (q Question) From(version uint64) Question {
	path, raw, _ := strings.Cut(q.Path, "?")
	query, _ := url.ParseQuery(raw) // it was asked before
	for _, name := range []string{"sendInitialEvents", "resourceVersionMatch"} {
		query.Del(name)
	}
	query.Set("resourceVersion", strconv.FormatUint(version, 10))
	q.Path = path + "?" + query.Encode()
	return q
}
