package timeline

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/listfacade/listfacade/internal/journal"
)

// options are the flags of both commands.
type options struct {
	dir       string
	from, to  string
	namespace string
	selector  string // only for diff
	output    string
}

// open returns the period between the moments of the flags, and the names of the resources at its end. If --to is a
// resourceVersion, these are the names at the time now.
func (o *options) open(ctx context.Context, now time.Time) (*period, vocabulary, error) {
	var from journal.Moment
	to, err := journal.ParseMoment(o.to, now)
	if err != nil {
		return nil, nil, fmt.Errorf("--to: %w", err)
	}
	if o.from != "" {
		if from, err = journal.ParseMoment(o.from, now); err != nil {
			return nil, nil, fmt.Errorf("--from: %w", err)
		}
	}
	p, err := newPeriod(ctx, o.dir, from, to)
	if err != nil {
		return nil, nil, err
	}
	known := to.Time
	if known.IsZero() {
		known = now
	}
	v, err := words(ctx, o.dir, known)
	return p, v, err
}

func (o *options) diff(ctx context.Context, args []string, now time.Time, out io.Writer) error {
	t, err := parseTarget(args)
	if err != nil {
		return err
	}
	f := filter{namespace: o.namespace, name: t.name}
	if f.labels, err = labels.Parse(o.selector); err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	p, v, err := o.open(ctx, now)
	if err != nil {
		return err
	}
	spans, err := p.spans()
	if err != nil {
		return err
	}
	if len(t.resources) > 0 {
		chosen := make([]span, len(t.resources))
		for i, name := range t.resources {
			if chosen[i], err = v.choose(name, spans); err != nil {
				return err
			}
		}
		spans = chosen
	}
	printed, err := newPrinter(o.output, diffTable, out)
	for i := 0; i < len(spans) && err == nil; i++ {
		err = p.retrying(spans[i], func(s *span) error { return p.diff(ctx, s, &f, printed.print) })
	}
	if err != nil {
		return err
	}
	return printed.close()
}

func (o *options) log(ctx context.Context, args []string, now time.Time, out io.Writer) error {
	t, err := parseTarget(args)
	if err != nil {
		return err
	}
	if t.name == "" {
		return errTarget
	}
	p, v, err := o.open(ctx, now)
	if err != nil {
		return err
	}
	spans, err := p.spans()
	if err != nil {
		return err
	}
	s, err := v.choose(t.resources[0], spans)
	if err != nil {
		return err
	}
	key := t.name
	if v.scoped(&s) {
		key = o.namespace + "/" + t.name
	}
	printed, err := newPrinter(o.output, logTable, out)
	if err != nil {
		return err
	}
	if err := p.retrying(s, func(s *span) error { return p.log(ctx, s, key, printed.print) }); err != nil {
		return err
	}
	return printed.close()
}
