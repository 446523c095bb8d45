package accounting

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/listfacade/listfacade/internal/observe"
)

// WriteText writes the ranking as a table with one line for each client.
func (r *Ranking) WriteText(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s, %s to %s (%s): %s in total; %d kinds of requests known, %d listed\n"+
		"The cost of each kind is between ESTIMATE - ERROR and ESTIMATE. The cost of each unknown kind is at most %s.\n",
		r.By, r.From.Format(time.TimeOnly), r.To.Format(time.TimeOnly), r.To.Sub(r.From).Round(time.Second),
		r.amount(r.Total), r.Keys, len(r.Clients), r.amount(r.Unlisted)); err != nil {
		return err
	}
	titles := []string{
		"ESTIMATE", "ERROR", "SHARE", "USER", "USER-AGENT", "VERB", "RESOURCE", "VERSION", "SCOPE", "SELECTOR", "MODE",
		"SOURCE",
	}
	return observe.WriteTable(w, len(r.Clients), titles, func(row int, cells []string) {
		c := &r.Clients[row]
		copy(cells, []string{
			r.amount(c.Estimate), r.amount(c.Error), r.share(c.Estimate), c.User, c.UserAgent, c.Verb,
			observe.ResourceName(c.Resource, c.Group, c.Subresource), c.Version, c.Scope, c.Selector, c.Mode, c.Source,
		})
	})
}

// Sanitize makes the texts safe for a terminal. It is needed for a Ranking from another process; the texts of
// Clients.Top are safe.
func (r *Ranking) Sanitize() {
	r.By = observe.Printable(r.By, mostText)
	for i := range r.Clients {
		for _, text := range r.Clients[i].texts() {
			*text = observe.Printable(*text, mostText)
		}
	}
}

// share returns the percentage of the total; empty if the total is 0.
func (r *Ranking) share(amount int64) string {
	if r.Total <= 0 {
		return ""
	}
	return strconv.Itoa(int(min(100*float64(amount)/float64(r.Total), 100))) + "%"
}

// amount formats a cost in its unit. Durations and bytes are rounded to three or four digits.
func (r *Ranking) amount(n int64) string {
	switch r.By {
	case CPU.String():
		return time.Duration(n).Round(rounding(n)).String()
	case Bytes.String():
		return quantity(n)
	default:
		return strconv.FormatInt(n, 10)
	}
}

// rounding returns the unit to which a duration is rounded, so that it has three digits.
func rounding(n int64) time.Duration {
	unit := time.Duration(1)
	for n >= 1000*int64(unit) {
		unit *= 10
	}
	return unit
}

// quantity formats a number of bytes as a Kubernetes quantity, rounded up to a binary unit.
func quantity(n int64) string {
	unit := int64(1)
	for n/unit >= 10_000 && unit < 1<<40 {
		unit <<= 10
	}
	q := resource.NewQuantity((n+unit-1)/unit*unit, resource.BinarySI)
	return strings.TrimSpace(q.String())
}
