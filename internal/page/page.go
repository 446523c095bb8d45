package page

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"net/url"
	"strings"

	"github.com/munnerz/goautoneg"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
)

// Path is the path of the page. The page's tables and assets are at paths below it.
const Path = "/debug/status"

// Policy is the Content-Security-Policy of the page.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Orders are the sort orders of the lists.
type Orders struct {
	Clients                 accounting.By
	Watches, Requests, Slow string
}

// Source gathers a Status without Problems and Limits, which the Page adds.
type Source func(Orders) *Status

// Page renders the current state. Safe for concurrent use after ShowLimits.
type Page struct {
	source Source
	limits func() []Limit
}

// New returns a page that renders the Status of a source.
func New(source Source) *Page { return &Page{source: source, limits: func() []Limit { return nil }} }

// ShowLimits sets the source of Status.Limits. It must be called before the first Answer.
func (p *Page) ShowLimits(limits func() []Limit) { p.limits = limits }

// Answer is the response to a request.
type Answer struct {
	ContentType string
	Body        []byte
}

// Header returns the headers of the response. These headers forbid browsers to store the page, and other sites to embed
// the page.
func (a *Answer) Header() map[string]string {
	return map[string]string{
		"Content-Type": a.ContentType, "Content-Security-Policy": Policy, "X-Content-Type-Options": "nosniff",
		"X-Frame-Options": "DENY",
		"Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
	}
}

// ErrNoSuchPage is returned for unknown paths below Path.
var ErrNoSuchPage = errors.New("no such page")

// QueryError is returned for invalid queries.
type QueryError struct{ Text string }

func (e *QueryError) Error() string { return e.Text }

// NotAcceptableError is returned when a client accepts none of Types.
type NotAcceptableError struct{ Types []string }

func (e *NotAcceptableError) Error() string {
	return "only the following media types are accepted: " + strings.Join(e.Types, ", ")
}

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").ParseFS(assets, "assets/*.html"))

var assetTypes = map[string]string{
	"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "good.svg": "image/svg+xml",
	"bad.svg": "image/svg+xml",
}

// The formats of the page: values of ?output=, and the media types for the Accept header.
var (
	outputs    = []string{"html", "json", "text"}
	mediaTypes = []string{"text/html", "application/json", "text/plain"}
)

// Answer returns the response to a GET of Path or of a path below it. Its errors include ErrNoSuchPage, *QueryError and
// *NotAcceptableError.
func (p *Page) Answer(path string, values url.Values, accept string) (*Answer, error) {
	name := strings.TrimPrefix(strings.TrimPrefix(path, Path), "/")
	if name == "" && path != Path {
		return nil, ErrNoSuchPage // a slash at the end would make relative links wrong
	}
	if media, ok := assetTypes[name]; ok {
		body, err := assets.ReadFile("assets/" + name)
		return &Answer{ContentType: media, Body: body}, err
	}
	q := &query{values: values}
	output, err := q.output(accept, name)
	if err != nil {
		return nil, err
	}
	v := p.view(q)
	if len(q.errs) > 0 {
		return nil, &QueryError{Text: strings.Join(q.errs, "; ")}
	}
	shown := any(v.Status)
	if name != "" {
		if shown = v.part(name); shown == nil {
			return nil, ErrNoSuchPage
		}
		v.keep(name)
	}
	var body bytes.Buffer
	switch output {
	case "json":
		err = json.NewEncoder(&body).Encode(shown)
		return &Answer{ContentType: "application/json", Body: body.Bytes()}, err
	case "text":
		err = v.writeText(&body)
		return &Answer{ContentType: "text/plain; charset=utf-8", Body: body.Bytes()}, err
	}
	err = templates.ExecuteTemplate(&body, "page.html", v)
	return &Answer{ContentType: "text/html; charset=utf-8", Body: body.Bytes()}, err
}

// output returns the format of the response. A single table has no HTML.
func (q *query) output(accept, name string) (string, error) {
	choices, types := outputs, mediaTypes
	if name != "" {
		choices, types = outputs[1:], mediaTypes[1:]
	}
	if requested := q.values.Get("output"); requested != "" || accept == "" {
		return q.one("output", choices), nil
	}
	chosen := goautoneg.Negotiate(accept, types)
	for i, media := range types {
		if media == chosen {
			return choices[i], nil
		}
	}
	return "", &NotAcceptableError{Types: types}
}

// part returns the data of one table; nil if no table has that name.
func (s *Status) part(name string) any {
	switch name {
	case "problems":
		return s.Problems
	case lanes:
		return s.Lanes
	case clients:
		return s.Clients
	case watches:
		return s.Watches
	case requests:
		return s.Requests
	case slow:
		return s.Slow
	case memory:
		return s.Memory
	case limits:
		return s.Limits
	case upstreams:
		return s.Upstream
	case "history":
		return s.History
	case "saved":
		return s.Saved
	}
	return nil
}

func (p *Page) gather(q *query) *Status {
	by := q.one(clients, accounting.Names[:])
	orders := Orders{
		Watches: q.one(watches, observe.WatchOrders), Requests: q.one(requests, observe.RequestOrders),
		Slow: q.one(slow, oplog.SlowOrders),
	}
	for i, name := range accounting.Names {
		if name == by {
			orders.Clients = accounting.By(i)
		}
	}
	s := p.source(orders)
	s.Limits = p.limits()
	s.Problems = judge(s)
	return s
}
