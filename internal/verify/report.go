package verify

import (
	"fmt"
	"io"
	"strconv"
)

// report writes a line for each resource and encoding, and below it the differences.
type report struct {
	out                              io.Writer
	shown                            int
	begun                            bool
	equal, different, failed, missed int
	passed                           int  // number of results for which all pages were forwarded
	cached                           bool // whether a page of any result was not forwarded
	unsure                           bool // whether pages of equal results may have been forwarded
	objects                          int
}

func newReport(out io.Writer, shown int) *report { return &report{out: out, shown: shown} }

const line = "%-9s %-9s %10s %12s %10s %9s  %s\n"

// add writes the result of a resource in one encoding. It fails only if writing fails.
func (r *report) add(o outcome) error {
	if !r.begun {
		r.begun = true
		if _, err := fmt.Fprintf(r.out, line, "RESULT", "ENCODING", "VERSION", "BYTES", "OBJECTS", "DIFFERENT",
			"RESOURCE"); err != nil {
			return err
		}
	}
	r.cached = r.cached || o.passed.pages < o.passed.of
	result := "equal"
	switch {
	case o.err != nil:
		result = "unknown"
		r.failed++
	case o.skipped:
		result = "none"
		r.missed++
	case o.compared.Different > 0:
		result = "different"
		r.different++
	case o.passed.all():
		result = "forwarded"
		r.passed++
	case o.passed.pages > 0:
		result = "unknown"
		r.failed++
	default:
		r.equal++
		r.unsure = r.unsure || o.passed.unknown
	}
	if result == "equal" || result == "different" {
		r.objects += o.compared.Objects
	}
	name := fmt.Sprintf("%s (%s)", o.resource.GroupResource(), o.resource.Version)
	objects, different, bytes := strconv.Itoa(o.compared.Objects), strconv.Itoa(o.compared.Different),
		strconv.FormatInt(o.bytes, 10)
	if o.err != nil || o.skipped {
		objects, different, bytes = "-", "-", "-"
	}
	if _, err := fmt.Fprintf(r.out, line, result, o.encoding, o.version, bytes, objects, different, name); err != nil {
		return err
	}
	return r.details(o)
}

func (r *report) details(o outcome) error {
	if o.err != nil {
		return r.note(o.err)
	}
	if o.skipped {
		return nil
	}
	if err := r.passing(o); err != nil {
		return err
	}
	for _, d := range o.differences {
		if _, err := fmt.Fprintf(r.out, "    %s\n", d); err != nil {
			return err
		}
	}
	if more := o.compared.Different - len(o.differences); more > 0 {
		_, err := fmt.Fprintf(r.out, "    and %d more\n", more)
		return err
	}
	return nil
}

func (r *report) passing(o outcome) (err error) {
	switch {
	case o.passed.all() && o.compared.Different == 0:
		_, err = fmt.Fprintln(r.out, "    forwarded, nothing compared")
	case o.passed.pages > 0:
		_, err = fmt.Fprintf(r.out, "    %d of %d pages were forwarded\n", o.passed.pages, o.passed.of)
	}
	return err
}

// waits writes what the command waits for. The command can wait for minutes while the facade lacks memory for a
// resource. A write error is ignored here, because writing the result will fail too.
func (r *report) waits(path string, why error) {
	_, _ = fmt.Fprintf(r.out, "    waiting for %s: %s\n", path, strconv.QuoteToGraphic(why.Error()))
}

func (r *report) note(err error) error {
	_, failed := fmt.Fprintf(r.out, "    %s\n", strconv.QuoteToGraphic(err.Error()))
	return failed
}

// onlyForwarded explains a run in which no answer came from the cache. After an installation, a controller collects the
// rules of the facade's ClusterRole. Until then the pods are ready, but every request is forwarded.
const onlyForwarded = `No answer came from the facade's cache. The facade forwards a resource that it must not cache
(--uncached-resources) or may not list and watch. A new installation gets these rights after some seconds:
run the command again.`

func (r *report) end() error {
	_, err := fmt.Fprintf(r.out, "%d equal, %d different, %d forwarded, %d unknown, %d without the encoding; %d objects\n",
		r.equal, r.different, r.passed, r.failed, r.missed, r.objects)
	if r.unsure && err == nil {
		_, err = fmt.Fprintln(r.out, "kube-apiserver sends no "+flowHeader+" header (API Priority and Fairness is off, or\n"+
			"--against is also a facade): equal pages may have been forwarded")
	}
	if r.passed > 0 && !r.cached && err == nil {
		_, err = fmt.Fprintln(r.out, onlyForwarded)
	}
	switch {
	case err != nil:
		return &Error{Err: err}
	case r.different > 0:
		return &Error{Err: errDifferent}
	case r.failed > 0, r.equal == 0, r.unsure:
		return &Error{Err: errIncomplete}
	}
	return nil
}
