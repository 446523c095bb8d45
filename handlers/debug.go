package handlers

import (
	"bytes"
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
)

const (
	defaultWindow = 5 * time.Minute
	defaultShown  = 50
	maxShown      = 1000
)

// report is a report of the facade about itself, as a table or as JSON.
type report interface {
	WriteText(w io.Writer) error
}

func (s *Server) topClients(out *reply, q *Request) error {
	p := reportParameters{query: q.query}
	by := p.oneOf("by", accounting.Names[:])
	window, shown := p.window(), p.limit()
	return out.report(q, p, func() report {
		ranking := s.clients.Top(accounting.By(slices.Index(accounting.Names[:], by)), window, shown)
		return &ranking
	})
}

func (s *Server) openRequests(out *reply, q *Request) error {
	p := reportParameters{query: q.query}
	by, shown := p.oneOf("by", observe.RequestOrders), p.limit()
	return out.report(q, p, func() report { list := s.inflight.Requests(by, shown); return &list })
}

func (s *Server) openWatches(out *reply, q *Request) error {
	p := reportParameters{query: q.query}
	by, shown := p.oneOf("by", observe.WatchOrders), p.limit()
	return out.report(q, p, func() report { list := s.inflight.Watches(by, shown); return &list })
}

type reportParameters struct {
	query url.Values
	errs  field.ErrorList
}

// oneOf returns the value of a parameter. It must be one of the given values, of which the first is the default.
func (p *reportParameters) oneOf(name string, values []string) string {
	asked := p.query.Get(name)
	switch {
	case asked == "":
		return values[0]
	case !slices.Contains(values, asked):
		p.errs = append(p.errs, field.NotSupported(field.NewPath(name), shortened(asked), values))
	}
	return asked
}

func (p *reportParameters) window() time.Duration {
	asked := p.query.Get("window")
	if asked == "" {
		return defaultWindow
	}
	window, err := time.ParseDuration(asked)
	if err != nil || window <= 0 || window > accounting.MaxWindow {
		p.invalid("window", asked, "must be a duration greater than 0s and at most "+accounting.MaxWindow.String())
	}
	return window
}

func (p *reportParameters) limit() int {
	asked := p.query.Get("limit")
	if asked == "" {
		return defaultShown
	}
	limit, err := strconv.Atoi(asked)
	if err != nil || limit < 1 || limit > maxShown {
		p.invalid("limit", asked, "must be between 1 and "+strconv.Itoa(maxShown)+", inclusive")
	}
	return limit
}

func (p *reportParameters) invalid(name, value, why string) {
	p.errs = append(p.errs, field.Invalid(field.NewPath(name), shortened(value), why))
}

func shortened(value string) string { return observe.Printable(value, 64) }

var reportTypes = []string{"text/plain", "application/json"}

// inJSON reports whether to write the report as JSON. The output parameter takes precedence over the Accept header.
func (p *reportParameters) inJSON(accept string) (bool, error) {
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

// report writes the report that of() returns. It calls of() only if the query is valid.
func (o *reply) report(q *Request, p reportParameters, of func() report) error {
	asJSON, err := p.inJSON(q.header.Get("Accept"))
	switch {
	case len(p.errs) > 0:
		return badRequest(p.errs.ToAggregate().Error())
	case err != nil:
		return err
	}
	header := o.header()
	header.Set("X-Content-Type-Options", "nosniff") // reports contain text from clients
	if asJSON {
		header.Set("Content-Type", "application/json")
		return json.NewEncoder(o.pieces()).Encode(of())
	}
	header.Set("Content-Type", "text/plain; charset=utf-8")
	var text bytes.Buffer // a buffer, because WriteText writes each cell separately
	if err := of().WriteText(&text); err != nil {
		return err
	}
	_, err = o.pieces().Write(text.Bytes())
	return err
}
