package verify

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/listfacade/listfacade/internal/divergence"
)

// pages reads a collection of one server at one exact resourceVersion, page by page.
type pages struct {
	server   *server
	encoding string
	path     string
	version  string
	limit    int
	useless  func() bool // reports whether the other server has failed; in this case, no more pages are read

	bytes       int64
	read, flows int   // number of pages read, and number of those with flowHeader
	err         error // why reading ended early
}

func (p *pages) all(ctx context.Context) func(func(divergence.Object) bool) {
	return func(yield func(divergence.Object) bool) {
		token := ""
		for !p.useless() {
			l, err := p.page(ctx, token)
			if err != nil {
				p.err = err
				return
			}
			p.bytes += int64(l.bytes)
			for _, o := range l.objects {
				if !yield(o) {
					return
				}
			}
			if token = l.next; token == "" {
				return
			}
		}
	}
}

func (p *pages) page(ctx context.Context, token string) (list, error) {
	query := url.Values{"limit": {strconv.Itoa(p.limit)}}
	if token == "" {
		query.Set("resourceVersion", p.version)
		query.Set("resourceVersionMatch", "Exact")
	} else {
		query.Set("continue", token)
	}
	a, err := p.server.get(ctx, p.path, query, accepts[p.encoding])
	if err != nil {
		return list{}, err
	}
	p.read++
	if a.flows {
		p.flows++
	}
	l, err := readers[p.encoding](a.body)
	switch {
	case err != nil:
		return list{}, fmt.Errorf("%s: %w", p.server.name, err)
	case l.version != p.version:
		return list{}, fmt.Errorf("%s returned resourceVersion %q, want %q", p.server.name, l.version, p.version)
	case l.next != "" && len(l.objects) == 0:
		return list{}, fmt.Errorf("%s: %w", p.server.name, errors.New("empty page has a continue token"))
	}
	return l, nil
}
