package handlers

import (
	"errors"
	"net/url"

	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/page"
)

func (s *Server) operatorPage(out *reply, q *Request) error {
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

// answerPage returns the page's response. Its errors have kube-apiserver's messages.
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

func (s *Server) limits() []page.Limit {
	l := s.limiter
	shown := []page.Limit{}
	add := func(name, unit, flag string, load limit.Load) {
		shown = append(shown, page.Limit{Name: name, Unit: unit, Taken: load.Taken, All: load.All, Waiting: load.Waiting,
			Flag: flag})
	}
	if l.shares.requests != nil {
		add("requests in flight", "requests", "--max-requests-inflight", l.shares.requests.Load())
	}
	if l.shares.bytes != nil {
		add("lists in flight", "MiB", "--max-list-bytes-inflight", l.shares.bytes.Load())
	}
	if l.shares.watches != nil {
		add("open watches", "watches", "--max-watches", l.shares.watches.Load())
	}
	add("stalled responses", "responses", "", l.stalls.Load())
	add("forwarded lists", "MiB", "", l.lists.Load())
	add("other forwarded requests", "requests", "", l.reads.Load())
	add("requests waiting for lanes", "requests", "", s.authorization.waiting.Load())
	return shown
}
