package handlers

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/observe"
)

// readKind says which version of the objects a read requires (semantics 2.1).
type readKind int

const (
	mostRecent   readKind = iota // everything written before the request
	anyAge                       // any version
	notOlderThan                 // version rv or a later one
	exactly                      // version rv; for a watch, the events after rv
)

func (k readKind) String() string {
	return [...]string{"MostRecent", "Any", "NotOlderThan", "Exact"}[k]
}

// plan is the combined meaning of resourceVersion, resourceVersionMatch, limit, continue and sendInitialEvents.
type plan struct {
	kind  readKind
	rv    cache.RV
	from  string // first key of a list
	limit int    // of a list; 0 means unlimited
	// initial means that a watch begins with the existing objects.
	initial bool
}

// planGet returns the plan of a get (semantics 3). For malformed versions it returns kube-apiserver's errors (semantics
// 1.5).
func planGet(q *Request) (plan, error) {
	version := q.query.Get("resourceVersion")
	if version == "" {
		return plan{kind: mostRecent}, nil
	}
	rv, err := parseRV(version)
	if err != nil && q.resource.ReadFromEtcd() {
		return plan{}, invalidVersion(version) // a get from etcd has the same error as a list
	}
	if err != nil || rv == 0 {
		return plan{kind: anyAge}, err
	}
	return plan{kind: notOlderThan, rv: rv}, nil
}

// planList returns the plan of a list, or the route to the upstream. For malformed versions and tokens it returns
// kube-apiserver's errors (semantics 1.5, 2.5).
func planList(q *Request) (plan, route, error) {
	opts := q.Options
	p := plan{limit: int(max(opts.Limit, 0)), from: q.keyPrefix()}
	if opts.Continue != "" {
		to, err := p.resume(q)
		return p, to, err
	}
	rv, err := cache.ParseRV(opts.ResourceVersion)
	if opts.ResourceVersion != "" && err != nil {
		return p, route{}, invalidVersion(opts.ResourceVersion)
	}
	p.rv = rv
	switch {
	case opts.ResourceVersion == "":
		p.kind = mostRecent
	case opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact:
		p.kind = exactly
	case rv == 0:
		p.kind = anyAge
	case opts.ResourceVersionMatch == metav1.ResourceVersionMatchNotOlderThan, p.limit == 0:
		p.kind = notOlderThan
	default: // legacy: resourceVersion and limit without resourceVersionMatch
		p.kind = exactly
	}
	// kube-apiserver's cache ignores the limit at version 0. Reads from etcd do not ignore it (semantics 2.1).
	if opts.ResourceVersion != "" && rv == 0 && !q.resource.ReadFromEtcd() {
		p.limit = 0
	}
	if q.pinned() && p.kind == exactly {
		return p, forwardFor(observe.ReadFromEtcd), nil // kube-apiserver always reads one key at an exact version from etcd
	}
	return p, route{}, nil
}

func (p *plan) resume(q *Request) (route, error) {
	at, to, err := decodeToken(q.Options.Continue, q.keyPrefix())
	if err != nil || to.forwards() {
		return to, err
	}
	version := q.Options.ResourceVersion
	if version != "" && version != "0" {
		return route{}, badRequest("specifying resource version is not allowed when using continue")
	}
	if version == "0" && !q.resource.ReadFromEtcd() {
		p.limit = 0
	}
	if p.limit > 0 && q.namesOne() {
		// kube-apiserver searches all objects for the named object, and returns a token for the objects after it. No known
		// client sends such a request.
		return forwardFor(observe.OwnWords), nil
	}
	p.from = at.start
	if at.rv < 0 {
		p.kind = mostRecent
		return route{}, nil
	}
	p.kind, p.rv = exactly, cache.RV(at.rv)
	return route{}, nil
}

// planWatch returns the plan of a watch, according to the table of semantics 4.1.
func planWatch(q *Request) (plan, error) {
	rv, err := parseRV(q.Options.ResourceVersion)
	p := plan{kind: exactly, rv: rv, initial: q.sendsInitialEvents()}
	switch {
	case err != nil:
		return p, err
	case q.byPath && q.Options.SendInitialEvents == nil && rv == 0:
		p.kind, p.initial = anyAge, true // no bookmark follows these initial events
	case q.Options.ResourceVersion == "":
		p.kind = mostRecent
	case rv == 0:
		p.kind = anyAge
	case p.initial:
		p.kind = notOlderThan
	}
	return p, nil
}

// parseRV parses the resourceVersion of a get or a watch. It returns 0 for "" and "0".
func parseRV(s string) (cache.RV, error) {
	if s == "" || s == "0" {
		return 0, nil
	}
	rv, err := cache.ParseRV(s)
	if err != nil {
		return 0, &invalidRVError{text: versionMessage(s)}
	}
	return rv, nil
}

// invalidVersion returns a list's error for a resourceVersion that is not a number (semantics 1.5).
func invalidVersion(s string) error {
	return badRequest("invalid resource version: " + versionMessage(s))
}

func versionMessage(s string) string {
	_, err := cache.ParseRV(s)
	return field.Invalid(field.NewPath("resourceVersion"), s, errors.Unwrap(err).Error()).Error()
}
