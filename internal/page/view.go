package page

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
)

type view struct {
	*Status
	Answered string
	Figures  []figure
	Charts   []chart
	Stack    stack
	Tables   []*table
	Pair     []*table // the last two tables, which are next to each other
	Refresh  int      // reload interval in seconds; 0 means never
	Pause    string   // link that pauses or resumes reloading
	Icon     string
	Whole    bool // the complete page, not a single table
	problems bool
}

func (p *Page) view(q *query) *view {
	every := q.refresh()
	s := p.gather(q)
	v := &view{
		Status: s, Answered: stamp(s.At), Figures: figures(s), Charts: charts(s), Stack: stackOf(&s.Memory), Refresh: every,
		Icon: "good.svg", Whole: true, problems: true,
		Pause: q.with("refresh", "0"),
	}
	if every == 0 {
		v.Pause = q.with("refresh", "")
	}
	if v.Trouble() > 0 {
		v.Icon = "bad.svg"
	}
	v.Tables = []*table{
		v.lanesTable(q), v.clientsTable(q), v.watchesTable(q), v.slowTable(q), v.requestsTable(q), v.upstreamTable(q),
	}
	v.Pair = []*table{v.memoryTable(q), v.limitsTable(q)}
	for _, t := range v.Named() {
		t.JSON = cmp.Or(t.JSON, "status/"+t.Name+"?output=json")
	}
	return v
}

func (v *view) Named() []*table { return slices.Concat(v.Tables, v.Pair) }

// Trouble returns the number of problems that are not notices.
func (v *view) Trouble() (n int) {
	for _, p := range v.Problems {
		if p.Severity != Notice {
			n++
		}
	}
	return n
}

func (v *view) Title() string {
	if n := v.Trouble(); n > 0 {
		return plural(n, "problem", "problems") + " · listfacade " + v.Process.Name
	}
	return "listfacade " + v.Process.Name
}

func (v *view) Calm() string {
	return fmt.Sprintf("No problems: kube-apiserver responds, %s synced, no limit is near.",
		plural(len(v.Lanes), "lane is", "lanes are"))
}

// keep removes all tables except one.
func (v *view) keep(name string) {
	v.Whole, v.problems = false, name == "problems"
	v.Tables, v.Pair = slices.DeleteFunc(v.Named(), func(t *table) bool { return t.Name != name }), nil
}

func (v *view) lanesTable(q *query) *table {
	t := tabled(q, lanes, "Lanes", "state", laneColumns(v.At), v.Lanes)
	t.Note = "Cached resources, one line for each encoding that clients request."
	t.Empty = "Nothing is cached at the moment."
	return t
}

func (v *view) clientsTable(q *query) *table {
	r := &v.Clients
	t := listed(q, clients, "Top clients, by "+r.By, clientColumns(r), r.Clients, "")
	t.Note = fmt.Sprintf("In the last five minutes: %s in total, by %s.", amount(r.By, r.Total),
		plural(r.Keys, "kind of request", "kinds of requests"))
	t.Empty = "No requests in the last five minutes."
	t.JSON = "clients?output=json&by=" + url.QueryEscape(r.By)
	for _, by := range accounting.Names {
		t.Choices = append(t.Choices, choice{Title: by, Link: q.with(clients, by) + "#" + clients, Taken: by == r.By})
	}
	return t
}

func (v *view) watchesTable(q *query) *table {
	by := q.one(watches, observe.WatchOrders)
	t := listed(q, watches, "Open watches", watchColumns(v.Bounds.SlowWatchLag), v.Watches.Items, by)
	t.More, t.Empty, t.JSON = v.Watches.Total-len(t.Rows), "No watch is open.", "watches?output=json&by="+by
	t.Note = "Lag is how long a watch has had events that it has not received yet."
	return t
}

func (v *view) requestsTable(q *query) *table {
	by := q.one(requests, observe.RequestOrders)
	t := listed(q, requests, "Requests in flight", requestColumns(), v.Requests.Items, by)
	t.More, t.Empty, t.JSON = v.Requests.Total-len(t.Rows), "No request is in flight.", "requests?output=json&by="+by
	return t
}

func (v *view) slowTable(q *query) *table {
	by := q.one(slow, oplog.SlowOrders)
	t := listed(q, slow, "Slow requests", slowColumns(v.At), v.Slow.Items, by)
	t.Empty = "No slow requests since the start."
	t.Note = "The last requests that took longer than " + duration(v.Bounds.SlowRequest) +
		", and watches that lagged longer than " + duration(v.Bounds.SlowWatchLag) +
		". " + count(v.Slow.Total) + " since the start. The log contains them with their Audit-Id."
	if v.Bounds.SlowRequest == 0 && v.Bounds.SlowWatchLag == 0 {
		t.Note = "Not recorded: --slow-request-threshold and --slow-watch-lag are 0."
	}
	return t
}

func (v *view) upstreamTable(q *query) *table {
	u := &v.Upstream
	t := tabled(q, upstreams, "kube-apiserver", "for", questionColumns(), u.Questions)
	t.Note = u.Endpoint + " responds."
	if u.SilentSeconds > 0 {
		t.Note = u.Endpoint + " has not responded for " + duration(seconds(u.SilentSeconds)) + "."
	}
	if f := u.LastFailure; f != nil {
		response := "no response"
		if f.Code > 0 {
			response = fmt.Sprint(f.Code)
		}
		t.Note += " Last failure: " + response + " to a " + f.Request + " request, " + ago(v.At, f.At) + "."
	}
	if u.LastError != "" {
		t.Note += " Last error: " + u.LastError + ", " + ago(v.At, u.LastErrorAt) + "."
	}
	return t
}

func (v *view) memoryTable(q *query) *table {
	m := &v.Memory
	kinds := append(slices.Clone(m.Kinds), Kind{Name: "used in total", Bytes: m.Used},
		Kind{Name: "mapped by Go, garbage included", Bytes: m.Mapped})
	if m.Budget > 0 {
		kinds = append(kinds, Kind{Name: "budget (--memory-budget)", Bytes: m.Budget})
	}
	return listed(q, memory, "Memory", kindColumns(m), kinds, "")
}

func (v *view) limitsTable(q *query) *table {
	t := listed(q, limits, "Limits", limitColumns(), v.Limits, "")
	t.Empty = "No limits."
	return t
}
