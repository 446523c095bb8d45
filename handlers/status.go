package handlers

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/page"
	"github.com/listfacade/listfacade/internal/reflector"
)

// status answers with the operator's page, and with its parts.
func (s *Server) status(_ context.Context, out *reply, q *Request, _ *reflector.Reflector) error {
	answer, err := s.page.Answer(q.url.Path, q.query, q.header.Get("Accept"))
	var (
		query *page.QueryError
		types *page.NotAcceptableError
	)
	switch {
	case errors.Is(err, page.ErrNoSuchPage):
		return errNoPath
	case errors.As(err, &query):
		return badRequest(query.Text)
	case errors.As(err, &types):
		return negotiation.NewNotAcceptableError(types.Types)
	case err != nil:
		return err
	}
	for name, value := range answer.Header() {
		out.header().Set(name, value)
	}
	_, err = out.pieces().Write(answer.Body)
	return err
}

// limits are what callers are held to, and how much of it is taken.
func (s *Server) limits() []page.Limit {
	l := s.limiter
	shown := []page.Limit{}
	add := func(name, unit, flag string, load limit.Load) {
		shown = append(shown, page.Limit{Name: name, Unit: unit, Taken: load.Taken, All: load.All, Waiting: load.Waiting, Flag: flag})
	}
	if l.shares.requests != nil {
		add("requests under way", "requests", "--max-requests-inflight", l.shares.requests.Load())
	}
	if l.shares.bytes != nil {
		add("lists on their way", "MiB", "--max-list-bytes-inflight", l.shares.bytes.Load())
	}
	if l.shares.watches != nil {
		add("open watches", "watches", "--max-watches", l.shares.watches.Load())
	}
	add("lists passed on", "MiB", "", l.lists.Load())
	add("other requests passed on", "requests", "", l.reads.Load())
	add("waiting for lanes", "requests", "", s.gate.crowd.Load())
	return shown
}
