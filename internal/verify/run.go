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
	// attempts is how often a resource is compared whose version is forgotten meanwhile.
	attempts = 3
	// fillWait is how long the facade may take to have read a resource.
	fillWait = 5 * time.Minute
	// pause is the time between two looks whether it has, at least.
	pause = 500 * time.Millisecond
)

// Run compares the two and writes a table of what it has compared, and what differs. It returns an *Error unless all is
// equal.
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
		return &Error{Err: fmt.Errorf("%s would be compared with itself", v.facade.base)}
	}
	all, incomplete, err := v.upstream.discovered(ctx, o.Resources)
	if err != nil {
		return &Error{Err: fmt.Errorf("ask kube-apiserver what it serves: %w", err)}
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

// verification is one run.
type verification struct {
	facade, upstream *server
	options          Options
	report           *report
}

// outcome is what came of one resource in one encoding.
type outcome struct {
	resource    resource
	encoding    string
	version     string
	bytes       int64
	compared    divergence.Compared
	differences []divergence.Difference // as many as are shown
	skipped     bool                    // it has not got the encoding
	passed      passed
	err         error // it could not be compared
}

// compare compares a resource in an encoding. It fails where nothing more can be compared, or written.
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
		o.err = fmt.Errorf("the right to list %s is lacking: %w", r.GroupResource(), o.err)
	}
	return v.report.add(o)
}

// lacks tells whether neither has the encoding, after one of them said so. Else err is why nothing is known.
func (v *verification) lacks(ctx context.Context, r resource, encoding string, refused error) (neither bool, err error) {
	for _, s := range []*server{v.facade, v.upstream} {
		_, err := s.get(ctx, r.path(), url.Values{"fieldSelector": {nothing}, "resourceVersion": {"0"}}, accepts[encoding])
		if err == nil {
			return false, fmt.Errorf("%s answers in %s: %w", s.name, encoding, refused)
		}
		if !hasCode(err, http.StatusNotAcceptable) {
			return false, errors.Join(refused, err)
		}
	}
	return true, nil
}

// once compares both at one version: one that the facade is at, so that it answers from its cache.
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
	ours := &pages{server: v.facade, encoding: encoding, path: r.path(), version: o.version, limit: v.options.Limit}
	theirs := &pages{server: v.upstream, encoding: encoding, path: r.path(), version: o.version, limit: v.options.Limit}
	ours.useless = func() bool { return theirs.err != nil }
	theirs.useless = func() bool { return ours.err != nil }
	whole := func() bool { return theirs.err == nil }
	o.compared, o.err = divergence.Compare([]string{"object"}, ours.all(ctx), theirs.all(ctx), whole, func(d divergence.Difference) {
		if r.isSecret() {
			d.Hide()
		}
		if len(o.differences) < v.options.Shown {
			o.differences = append(o.differences, d)
		}
	})
	// A side that broke off lacks what the other has, which says nothing.
	if err := errors.Join(ours.err, theirs.err); err != nil {
		o.err = err
	}
	o.bytes, o.passed = theirs.bytes, passedOf(ours, theirs)
	return o
}

// passed is what of the facade's answer was kube-apiserver's own, so that it was compared with itself.
type passed struct {
	pages, of int
	unknown   bool // kube-apiserver does not say what its answers are known by
}

// passedOf counts the pages of ours that were theirs.
func passedOf(ours, theirs *pages) passed {
	return passed{pages: ours.flows, of: ours.read, unknown: theirs.flows == 0}
}

// all tells whether nothing of the facade's own was compared.
func (p passed) all() bool { return p.of > 0 && p.pages == p.of }

// nothing selects the one name that no object is likely to have, so that a list is short.
const nothing = "metadata.name=listfacade.verify"

// version is what the facade's cache is at. A resource that is not cached yet is, by then.
func (v *verification) version(ctx context.Context, r resource, encoding string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fillWait)
	defer cancel()
	for first := true; ; first = false {
		a, err := v.facade.ask(ctx, r.path(), url.Values{"fieldSelector": {nothing}, "resourceVersion": {"0"}}, accepts[encoding])
		if err == nil {
			l, err := readers[encoding](a.body)
			if err == nil && l.version == "" {
				err = errors.New("its lists have no resourceVersion")
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
