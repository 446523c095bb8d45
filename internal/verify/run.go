package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/divergence"
)

const (
	// attempts is the maximum number of comparisons of a resource. A comparison fails if its resourceVersion expires.
	attempts = 3
	// fillWait is how long Run waits for the facade to cache a resource.
	fillWait = 5 * time.Minute
	// pause is the minimum time between two requests while Run waits.
	pause = 500 * time.Millisecond
)

// Run compares both servers and writes a table of the results with the differences. It returns an *Error unless
// everything is equal.
func Run(ctx context.Context, facade, upstream *rest.Config, o Options, out io.Writer) error {
	if err := o.validate(); err != nil {
		return &Error{Err: err}
	}
	v := &verification{options: o, report: newReport(out, o.Shown)}
	var err error
	if v.facade, err = newServer("the facade", facade); err != nil {
		return &Error{Err: err}
	}
	defer v.facade.client.CloseIdleConnections()
	if v.upstream, err = newServer("kube-apiserver", upstream); err != nil {
		return &Error{Err: err}
	}
	defer v.upstream.client.CloseIdleConnections()
	v.facade.waits, v.upstream.waits = v.report.waits, v.report.waits
	if v.facade.base.String() == v.upstream.base.String() {
		return &Error{Err: fmt.Errorf("facade and kube-apiserver have the same address %s", v.facade.base)}
	}
	all, incomplete, err := v.upstream.discovered(ctx, o.Resources)
	if err != nil {
		return &Error{Err: fmt.Errorf("discover resources of kube-apiserver: %w", err)}
	}
	if incomplete != nil && len(o.Resources) == 0 {
		v.report.failed++
		if err := v.report.note(incomplete); err != nil {
			return &Error{Err: err}
		}
	}
	for _, r := range all {
		for _, encoding := range o.Encodings {
			if err := v.compare(ctx, r, encoding); err != nil {
				return &Error{Err: err}
			}
		}
	}
	return v.report.end()
}

type verification struct {
	facade, upstream *server
	options          Options
	report           *report
}

type outcome struct {
	resource    resource
	encoding    string
	version     string
	bytes       int64
	compared    divergence.Compared
	differences []divergence.Difference
	skipped     bool // whether neither server supports the encoding
	passed      passed
	err         error
}

// compare compares a resource in an encoding. It fails when the context ends or writing fails.
func (v *verification) compare(ctx context.Context, r resource, encoding string) error {
	var o outcome
	for range attempts {
		o = v.once(ctx, r, encoding)
		if !hasCode(o.err, http.StatusGone, http.StatusGatewayTimeout) {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if encoding == "protobuf" && hasCode(o.err, http.StatusNotAcceptable) {
		o.skipped, o.err = v.lacks(ctx, r, encoding, o.err)
	}
	if hasCode(o.err, http.StatusForbidden) {
		o.err = fmt.Errorf("missing permission to list %s: %w", r.GroupResource(), o.err)
	}
	return v.report.add(o)
}

// lacks reports whether neither server supports the encoding, after one of them returned 406. It returns an error if
// the other server supports the encoding, or if a request fails.
func (v *verification) lacks(ctx context.Context, r resource, encoding string,
	refused error) (neither bool, err error) {
	for _, s := range []*server{v.facade, v.upstream} {
		_, err := s.get(ctx, r.path(), url.Values{"fieldSelector": {nothing}, "resourceVersion": {"0"}}, accepts[encoding])
		if err == nil {
			return false, fmt.Errorf("%s supports %s: %w", s.name, encoding, refused)
		}
		if !hasCode(err, http.StatusNotAcceptable) {
			return false, errors.Join(refused, err)
		}
	}
	return true, nil
}

// once compares both servers at the resourceVersion of the facade's cache, because the facade serves that
// resourceVersion without forwarding.
func (v *verification) once(ctx context.Context, r resource, encoding string) outcome {
	o := outcome{resource: r, encoding: encoding}
	for _, s := range []*server{v.facade, v.upstream} {
		if s.busy != nil {
			o.err = s.busy
			return o
		}
	}
	if o.version, o.err = v.version(ctx, r, encoding); o.err != nil {
		return o
	}
	facade := &pages{server: v.facade, encoding: encoding, path: r.path(), version: o.version, limit: v.options.Limit}
	upstream := &pages{server: v.upstream, encoding: encoding, path: r.path(), version: o.version, limit: v.options.Limit}
	facade.useless = func() bool { return upstream.err != nil }
	upstream.useless = func() bool { return facade.err != nil }
	whole := func() bool { return upstream.err == nil }
	o.compared, o.err = divergence.Compare([]string{"object"}, facade.all(ctx), upstream.all(ctx), whole,
		func(d divergence.Difference) {
			if r.isSecret() {
				d.Hide()
			}
			if len(o.differences) < v.options.Shown {
				o.differences = append(o.differences, d)
			}
		})
	// When one server fails, the remaining objects of the other server are not differences.
	if err := errors.Join(facade.err, upstream.err); err != nil {
		o.err = err
	}
	o.bytes, o.passed = upstream.bytes, passedOf(facade, upstream)
	return o
}

// passed counts the forwarded pages. In such pages, kube-apiserver was compared with itself.
type passed struct {
	pages, of int
	unknown   bool // whether kube-apiserver sends no flowHeader; pages is then meaningless
}

func passedOf(facade, upstream *pages) passed {
	return passed{pages: facade.flows, of: facade.read, unknown: upstream.flows == 0}
}

func (p passed) all() bool { return p.of > 0 && p.pages == p.of }

// nothing is a field selector for a name that no object is likely to have. The list is then empty.
const nothing = "metadata.name=listfacade.verify"

// version returns the resourceVersion of the facade's cache. It waits up to fillWait until the resource is cached.
func (v *verification) version(ctx context.Context, r resource, encoding string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fillWait)
	defer cancel()
	for first := true; ; first = false {
		a, err := v.facade.ask(ctx, r.path(), url.Values{"fieldSelector": {nothing}, "resourceVersion": {"0"}},
			accepts[encoding])
		if err == nil {
			l, err := readers[encoding](a.body)
			if err == nil && l.version == "" {
				err = errors.New("list has no resourceVersion")
			}
			return l.version, err
		}
		var busy *refusal
		if !errors.As(err, &busy) || !hasCode(err, http.StatusTooManyRequests, http.StatusServiceUnavailable) {
			return "", err
		}
		if first {
			v.facade.waits(r.path(), err)
		}
		if v.facade.sleep(ctx, busy.pause(pause)) != nil {
			return "", err
		}
	}
}
