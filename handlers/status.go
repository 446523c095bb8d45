package handlers

import (
	"context"
	"errors"
	"net/url"

	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/page"
	"github.com/listfacade/listfacade/internal/reflector"
)

// status answers with the operator's page, and with its parts.
func (s *Server) status(_ context.Context, out *reply, q *Request, _ *reflector.Reflector) error {
	answer, err := answerPage(s.page, q.url.Path, q.query, q.header.Get("Accept"))
	if err != nil {
		return err
	}
	for name, value := range answer.Header() {
		out.header().Set(name, value)
	}
	_, err = out.pieces().Write(answer.Body)
	return err
}

// answerPage has the page answer, and its errors in the words of kube-apiserver.
func answerPage(p *page.Page, path string, query url.Values, accept string) (*page.Answer, error) {
	answer, err := p.Answer(path, query, accept)
	var (
		unknown *page.QueryError
		types   *page.NotAcceptableError
	)
	switch {
	case errors.Is(err, page.ErrNoSuchPage):
		return nil, errNoPath
	case errors.As(err, &unknown):
		return nil, badRequest(unknown.Text)
	case errors.As(err, &types):
		return nil, negotiation.NewNotAcceptableError(types.Types)
	}
	return answer, err
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
	add("answers that clients do not take", "answers", "", l.stalls.Load())
	add("lists passed on", "MiB", "", l.lists.Load())
	add("other requests passed on", "requests", "", l.reads.Load())
	add("waiting for lanes", "requests", "", s.authorization.waiting.Load())
	return shown
}
