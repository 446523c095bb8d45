package handlers

import (
	"errors"
	"net/http"

	"github.com/listfacade/listfacade/internal/page"
)

// PageHandler serves the operator's page without authentication, with the same errors as a Server. It is for a socket
// that only the user of the process can open.
func PageHandler(p *page.Page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			WriteStatus(w, r, statusOf(errMethod))
			return
		}
		switch answer, err := answerPage(p, r.URL.Path, r.URL.Query(), r.Header.Get("Accept")); {
		case errors.Is(err, errNoPath):
			http.NotFound(w, r)
		case err != nil:
			WriteStatus(w, r, statusOf(err))
		default:
			for name, value := range answer.Header() {
				w.Header().Set(name, value)
			}
			_, _ = w.Write(answer.Body) // the client may be gone
		}
	})
}
