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

// The period and the number of lines of the reports. Over HTTPS, the request selects both.
const (
	reportWindow = 5 * time.Minute
	reportLines  = 50
)

// addReports adds reports that are also served over HTTPS. Over HTTPS, callers must be reviewed, and reviews fail while
// kube-apiserver does not answer. At such a time, operators need the reports most.
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

type report interface {
	WriteText(w io.Writer) error
}

// reporting returns a handler that serves a report. The query parameter "by" selects the order. "output=json" selects
// JSON.
func reporting(orders []string, build func(by string) report) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by := r.URL.Query().Get("by")
		switch {
		case by == "":
			by = orders[0]
		case !slices.Contains(orders, by):
			http.Error(w, fmt.Sprintf("parameter by: must be one of %q", orders), http.StatusBadRequest)
			return
		}
		// Encode and WriteText fail only if the client has left.
		if r.URL.Query().Get("output") == "json" {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(build(by))
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_ = build(by).WriteText(w)
	})
}
