package facade

import (
	"errors"
	"net/http"

	"github.com/listfacade/listfacade/internal/page"
)

// statusHandler shows the operator's page at the debug socket.
type statusHandler struct{ page *page.Page }

// ServeHTTP implements http.Handler.
func (h statusHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "only GET is answered", http.StatusMethodNotAllowed)
		return
	}
	answer, err := h.page.Answer(r.URL.Path, r.URL.Query(), r.Header.Get("Accept"))
	var (
		query *page.QueryError
		types *page.NotAcceptableError
	)
	switch {
	case errors.Is(err, page.ErrNoSuchPage):
		http.NotFound(w, r)
		return
	case errors.As(err, &query):
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case errors.As(err, &types):
		http.Error(w, err.Error(), http.StatusNotAcceptable)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for name, value := range answer.Header() {
		w.Header().Set(name, value)
	}
	_, _ = w.Write(answer.Body) // the client may be gone
}
