package facade

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/observe"
)

// What the reports at the socket show: over HTTPS a request says how much, and how far back.
const (
	reportWindow = 5 * time.Minute
	reportLines  = 50
)

// addReports adds what the facade tells about itself, as over HTTPS. There callers have to be reviewed, which they
// cannot be while kube-apiserver is away: just when it is asked what is wrong.
func (f *Facade) addReports(mux *http.ServeMux) {
	mux.Handle("/metrics", f.metrics.Handler())
	mux.Handle("/debug/clients", reporting(accounting.Names[:], func(by string) report {
		ranking := f.clients.Top(accounting.By(slices.Index(accounting.Names[:], by)), reportWindow, reportLines)
		return &ranking
	}))
	mux.Handle("/debug/requests", reporting(observe.RequestOrders, func(by string) report {
		list := f.inflight.Requests(by, reportLines)
		return &list
	}))
	mux.Handle("/debug/watches", reporting(observe.WatchOrders, func(by string) report {
		list := f.inflight.Watches(by, reportLines)
		return &list
	}))
}

// report is a table.
type report interface {
	WriteText(w io.Writer) error
}

// reporting answers with a report, sorted by what ?by= says, in JSON where ?output= says so.
func reporting(orders []string, made func(by string) report) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by := r.URL.Query().Get("by")
		switch {
		case by == "":
			by = orders[0]
		case !slices.Contains(orders, by):
			http.Error(w, fmt.Sprintf("by: one of %q", orders), http.StatusBadRequest)
			return
		}
		// An error is a client that is gone.
		if r.URL.Query().Get("output") == "json" {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(made(by))
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_ = made(by).WriteText(w)
	})
}
