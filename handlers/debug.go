package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/munnerz/goautoneg"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
)

// What is shown when a request does not say how much, and how much it may say.
const (
	defaultWindow = 5 * time.Minute
	defaultShown  = 50
	mostShown     = 1000
)

// report is what the facade tells about itself, as a table or as JSON.
type report interface {
	WriteText(w io.Writer) error
}

// topClients answers who takes what.
func (s *Server) topClients(_ context.Context, out *reply, q *Request, _ *reflector.Reflector) error {
	p := parameters{query: q.query}
	by := p.oneOf("by", accounting.Names[:])
	window, shown := p.window(), p.limit()
	return out.report(q, p, func() report {
		ranking := s.clients.Top(accounting.By(slices.Index(accounting.Names[:], by)), window, shown)
		return &ranking
	})
}

// openRequests answers what is under way.
func (s *Server) openRequests(_ context.Context, out *reply, q *Request, _ *reflector.Reflector) error {
	p := parameters{query: q.query}
	by, shown := p.oneOf("by", observe.RequestOrders), p.limit()
	return out.report(q, p, func() report { list := s.inflight.Requests(by, shown); return &list })
}

// openWatches answers which watches are open.
func (s *Server) openWatches(_ context.Context, out *reply, q *Request, _ *reflector.Reflector) error {
	p := parameters{query: q.query}
	by, shown := p.oneOf("by", observe.WatchOrders), p.limit()
	return out.report(q, p, func() report { list := s.inflight.Watches(by, shown); return &list })
}

// parameters reads what a query says of a report, and keeps what is wrong with it.
type parameters struct {
	query url.Values
	errs  field.ErrorList
}

// oneOf is a parameter with a closed set of values, of which the first is the default.
func (p *parameters) oneOf(name string, values []string) string {
	asked := p.query.Get(name)
	switch {
	case asked == "":
		return values[0]
	case !slices.Contains(values, asked):
		p.errs = append(p.errs, field.NotSupported(field.NewPath(name), shortened(asked), values))
	}
	return asked
}

// window is how far back is looked.
func (p *parameters) window() time.Duration {
	asked := p.query.Get("window")
	if asked == "" {
		return defaultWindow
	}
	window, err := time.ParseDuration(asked)
	if err != nil || window <= 0 || window > accounting.MaxWindow {
		p.invalid("window", asked, "must be a duration above 0s, and "+accounting.MaxWindow.String()+" at most")
	}
	return window
}

// limit is how much is shown.
func (p *parameters) limit() int {
	asked := p.query.Get("limit")
	if asked == "" {
		return defaultShown
	}
	limit, err := strconv.Atoi(asked)
	if err != nil || limit < 1 || limit > mostShown {
		p.invalid("limit", asked, "must be between 1 and "+strconv.Itoa(mostShown)+", inclusive")
	}
	return limit
}

func (p *parameters) invalid(name, value, why string) {
	p.errs = append(p.errs, field.Invalid(field.NewPath(name), shortened(value), why))
}

// shortened is as much of a value as a refusal repeats.
func shortened(value string) string { return observe.Printable(value, 64) }

// What a report is written in.
var reportTypes = []string{"text/plain", "application/json"}

// inJSON tells what a report is to be written in: what ?output= says, else what the client accepts.
func (p *parameters) inJSON(accept string) (bool, error) {
	switch asked := p.query.Get("output"); asked {
	case "json":
		return true, nil
	case "text":
		return false, nil
	case "":
	default:
		p.errs = append(p.errs, field.NotSupported(field.NewPath("output"), shortened(asked), []string{"text", "json"}))
		return false, nil
	}
	if accept == "" {
		return false, nil
	}
	chosen := goautoneg.Negotiate(accept, reportTypes)
	if chosen == "" {
		return false, negotiation.NewNotAcceptableError(reportTypes)
	}
	return chosen == reportTypes[1], nil
}

// report answers with what of returns, which is called when nothing is wrong with the query.
func (o *reply) report(q *Request, p parameters, of func() report) error {
	asJSON, err := p.inJSON(q.header.Get("Accept"))
	switch {
	case len(p.errs) > 0:
		return badRequest(p.errs.ToAggregate().Error())
	case err != nil:
		return err
	}
	header := o.header()
	header.Set("X-Content-Type-Options", "nosniff") // there are texts of clients in it
	if asJSON {
		header.Set("Content-Type", "application/json")
		return json.NewEncoder(o.pieces()).Encode(of())
	}
	header.Set("Content-Type", "text/plain; charset=utf-8")
	var text bytes.Buffer // a table is written cell by cell
	if err := of().WriteText(&text); err != nil {
		return err
	}
	_, err = o.pieces().Write(text.Bytes())
	return err
}
