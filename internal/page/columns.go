package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
)

// Names of the tables in links, queries and paths.
const (
	lanes     = "lanes"
	clients   = "clients"
	watches   = "watches"
	requests  = "requests"
	slow      = "slow"
	memory    = "memory"
	limits    = "limits"
	upstreams = "upstream"
)

func laneColumns(now time.Time) []column[Lane] {
	return []column[Lane]{
		{key: "resource", title: "Resource", of: func(l *Lane) cell { return text(l.Name()) }},
		{key: "encoding", title: "Encoding", of: func(l *Lane) cell { return dim(l.Encoding) }},
		{key: "state", title: "State", of: stateCell},
		{key: "objects", title: "Objects", right: true, of: func(l *Lane) cell { return number(l.Objects) }},
		{key: "bytes", title: "As sent", right: true, of: func(l *Lane) cell { return sized(l.Bytes) }},
		{key: "memory", title: "In memory", right: true, of: func(l *Lane) cell { return sized(l.Memory) }},
		{key: "rv", title: "RV", right: true, of: func(l *Lane) cell {
			return cell{Text: fmt.Sprint(l.ResourceVersion), number: float64(l.ResourceVersion), Class: "code"}.or(dim("–"))
		}},
		{key: "event", title: "Last event", right: true, of: func(l *Lane) cell {
			if l.LastEventSeconds < 0 {
				return dim("none")
			}
			return cell{Text: ago(now, now.Add(-seconds(l.LastEventSeconds))), number: l.LastEventSeconds}
		}},
		{key: "unheard", title: "No message for", right: true, of: func(l *Lane) cell {
			return lasting(l.StaleSeconds).or(dim("0s")).as("bad", seconds(l.StaleSeconds) > behindAfter)
		}},
		{key: "relists", title: "Relists, 30m", right: true, of: func(l *Lane) cell {
			return number(l.Relists).or(dim("0")).as("bad", l.Relists > relistsMany)
		}},
		{key: "watches", title: "Watches", right: true, of: func(l *Lane) cell { return number(l.Watches) }},
		{key: "lag", title: "Not offered", right: true, of: func(l *Lane) cell {
			c := number(l.LagEvents).or(dim("0"))
			c.Title = "events of the lane that were not dispatched to its watches yet"
			return c
		}},
		{key: "why", title: "Why not synced",
			of: func(l *Lane) cell { return text(strings.TrimPrefix(cmp.Or(l.Why, filled(l)), ": ")) }},
	}
}

// stateCell returns a cell that sorts the worst state first.
func stateCell(l *Lane) cell {
	order := []State{Failing, NoMemory, Stale, Syncing, Relisting, Refused, Synced}
	class := map[State]string{Synced: "good", Stale: "bad", Failing: "bad", NoMemory: "bad", Refused: "warn",
		Syncing: "warn", Relisting: "warn"}
	return cell{Text: string(l.State), number: float64(slices.Index(order, l.State)), Class: class[l.State]}
}

func amount(by string, n int64) string {
	switch by {
	case "bytes":
		return size(n)
	case "cpu":
		return duration(time.Duration(n))
	}
	return count(n)
}

func clientColumns(r *accounting.Ranking) []column[accounting.Client] {
	return []column[accounting.Client]{
		{title: map[string]string{"bytes": "Bytes", "cpu": "CPU", "objects": "Objects", "forwarded": "Requests",
			"events": "Events"}[r.By], right: true, of: func(c *accounting.Client) cell {
			shown := cell{Text: amount(r.By, c.Estimate)}
			if c.Error > 0 {
				shown.Title = "upper bound; the lower bound is " + amount(r.By, c.Estimate-c.Error)
			}
			return shown
		}},
		{title: "Share", right: true, of: func(c *accounting.Client) cell {
			return text(fmt.Sprintf("%.1f%%", 100*float64(c.Estimate)/float64(max(r.Total, 1))))
		}},
		{title: "User", of: func(c *accounting.Client) cell { return text(c.User) }},
		{title: "User agent", of: func(c *accounting.Client) cell { return agent(c.UserAgent) }},
		{title: "Verb", of: func(c *accounting.Client) cell { return text(c.Verb) }},
		{title: "Resource", of: func(c *accounting.Client) cell {
			return text(observe.ResourceName(c.Resource, c.Group,
				c.Subresource))
		}},
		{title: "Scope", of: func(c *accounting.Client) cell { return text(c.Scope) }},
		{title: "Selector", of: func(c *accounting.Client) cell { return text(c.Selector) }},
		{title: "RV mode", of: func(c *accounting.Client) cell { return text(c.Mode) }},
		{title: "Answered by", of: func(c *accounting.Client) cell { return source(string(c.Source)) }},
	}
}

func source(s string) cell {
	if s == string(observe.FromUpstream) {
		return text("kube-apiserver")
	}
	return text(s)
}

// agent returns a cell with the beginning of a user agent, because the beginning identifies the program.
func agent(s string) cell {
	const most = 48
	if len(s) <= most {
		return text(s)
	}
	return cell{Text: strings.ToValidUTF8(s[:most], "") + "…", Title: s}
}

func openColumns() []column[observe.Open] {
	return []column[observe.Open]{
		{title: "State", of: func(o *observe.Open) cell { return text(o.State) }},
		{title: "For", right: true, of: func(o *observe.Open) cell { return lasting(o.StateSeconds) }},
		{title: "Waits for", of: func(o *observe.Open) cell { return text(o.WaitsFor).as("warn", o.WaitsFor == "client") }},
		{title: "Verb", of: func(o *observe.Open) cell { return text(o.Verb) }},
		{title: "Resource", of: func(o *observe.Open) cell {
			return text(observe.ResourceName(o.Resource, o.Group,
				o.Subresource))
		}},
		{title: "Namespace", of: func(o *observe.Open) cell { return text(o.Namespace) }},
		{title: "Selector", of: selectorCell},
		{title: "User", of: func(o *observe.Open) cell { return text(o.User) }},
		{title: "User agent", of: func(o *observe.Open) cell { return agent(o.UserAgent) }},
		{title: "Client", of: func(o *observe.Open) cell { return dim(o.Client) }},
		{title: "Answered by", of: func(o *observe.Open) cell { return source(o.Source) }},
	}
}

func selectorCell(o *observe.Open) cell {
	var all []string
	for _, s := range []string{o.Name, o.LabelSelector, o.FieldSelector} {
		if s != "" {
			all = append(all, s)
		}
	}
	return agent(strings.Join(all, " "))
}

func requestColumns() []column[observe.Open] {
	return slices.Concat([]column[observe.Open]{
		{key: "age", title: "Age", right: true, of: func(o *observe.Open) cell { return lasting(o.AgeSeconds) }},
		{key: "bytes", title: "Sent", right: true, of: func(o *observe.Open) cell { return sized(o.Bytes) }},
	}, openColumns())
}

func watchColumns(slowLag time.Duration) []column[observe.Open] {
	of := func(read func(*observe.OpenWatch) cell) func(*observe.Open) cell {
		return func(o *observe.Open) cell {
			if o.OpenWatch == nil {
				return cell{}
			}
			return read(o.OpenWatch)
		}
	}
	return slices.Concat([]column[observe.Open]{
		{key: "lag", title: "Lag", right: true, of: of(func(w *observe.OpenWatch) cell {
			return lasting(w.LagSeconds).or(dim("0s")).as("bad", slowLag > 0 && seconds(w.LagSeconds) > slowLag)
		})},
		{title: "Behind", right: true, of: of(func(w *observe.OpenWatch) cell {
			c := number(w.LagEvents).or(dim("0"))
			c.Title = "events that the watch has not received yet"
			return c
		})},
		{key: "events", title: "Events", right: true, of: of(func(w *observe.OpenWatch) cell { return number(w.Events) })},
		{key: "bytes", title: "Sent", right: true, of: func(o *observe.Open) cell { return sized(o.Bytes) }},
		{key: "age", title: "Age", right: true, of: func(o *observe.Open) cell { return lasting(o.AgeSeconds) }},
	}, slices.DeleteFunc(openColumns(), func(c column[observe.Open]) bool { return c.title == "Verb" }))
}

func slowColumns(now time.Time) []column[oplog.Slow] {
	return []column[oplog.Slow]{
		{key: "at", title: "When", right: true,
			of: func(s *oplog.Slow) cell { return cell{Text: ago(now, s.At), Title: stamp(s.At)} }},
		{key: "took", title: "Took", right: true, of: func(s *oplog.Slow) cell { return lasting(s.TookSeconds) }},
		{title: "Longest step", of: mostOf},
		{title: "Verb", of: func(s *oplog.Slow) cell { return cell{Text: s.Verb, Title: s.What} }},
		{title: "URI", of: func(s *oplog.Slow) cell { return uriCell(s.URI) }},
		{title: "Code", right: true,
			of: func(s *oplog.Slow) cell { return text(fmt.Sprint(s.Code)).as("bad", s.Code >= 500) }},
		{title: "Scanned", right: true, of: func(s *oplog.Slow) cell { return number(s.Scanned) }},
		{title: "Returned", right: true, of: func(s *oplog.Slow) cell { return number(s.Sent) }},
		{title: "Sent", right: true, of: func(s *oplog.Slow) cell { return sized(s.Bytes) }},
		{title: "Answered by", of: func(s *oplog.Slow) cell {
			c := source(s.Source)
			if s.Reason != "" {
				c.Text += " (" + s.Reason + ")"
			}
			return c
		}},
		{title: "User", of: func(s *oplog.Slow) cell { return text(s.User) }},
		{title: "User agent", of: func(s *oplog.Slow) cell { return agent(s.UserAgent) }},
		{title: "Audit-Id", of: func(s *oplog.Slow) cell { return cell{Text: s.AuditID, Class: "code"} }},
	}
}

// mostOf returns a cell with the longest step. Its title lists all steps.
func mostOf(s *oplog.Slow) cell {
	switch {
	case s.What != "Slow request":
		return text("lags behind its lane")
	case s.Longest == "":
		return cell{}
	}
	names := make([]string, 0, len(s.Steps))
	for name := range s.Steps {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(s.Steps[b], s.Steps[a]) })
	var all []string
	for _, name := range names {
		all = append(all, name+" "+duration(seconds(s.Steps[name])))
	}
	return cell{Text: all[0], Title: strings.Join(all, ", ")}
}

func uriCell(uri string) cell {
	const most = 80
	if len(uri) <= most {
		return cell{Text: uri, Class: "code"}
	}
	return cell{Text: strings.ToValidUTF8(uri[:most], "") + "…", Title: uri, Class: "code"}
}

func questionColumns() []column[oplog.Question] {
	bad := func(read func(*oplog.Question) int) func(*oplog.Question) cell {
		return func(q *oplog.Question) cell { n := read(q); return number(n).or(dim("0")).as("bad", n > 0) }
	}
	return []column[oplog.Question]{
		{key: "for", title: "Request", of: func(q *oplog.Question) cell { return text(q.Request) }},
		{key: "count", title: "Count, 5m", right: true, of: func(q *oplog.Question) cell { return number(q.Count) }},
		{key: "mean", title: "Mean", right: true,
			of: func(q *oplog.Question) cell { return lasting(q.MeanSeconds).or(dim("–")) }},
		{key: "longest", title: "Longest", right: true,
			of: func(q *oplog.Question) cell { return lasting(q.LongestSeconds).or(dim("–")) }},
		{key: "unanswered", title: "No response", right: true,
			of: bad(func(q *oplog.Question) int { return q.Unanswered })},
		{key: "throttled", title: "429", right: true, of: bad(func(q *oplog.Question) int { return q.Throttled })},
		{key: "refused", title: "401, 403", right: true, of: bad(func(q *oplog.Question) int { return q.Refused })},
		{key: "failed", title: "5xx", right: true, of: bad(func(q *oplog.Question) int { return q.Failed })},
	}
}

func kindColumns(m *Memory) []column[Kind] {
	return []column[Kind]{
		{title: "Memory", of: func(k *Kind) cell { return text(k.Name) }},
		{title: "Bytes", right: true, of: func(k *Kind) cell { return sized(k.Bytes) }},
		{title: "Share", right: true, of: func(k *Kind) cell {
			if !slices.Contains(m.Kinds, *k) {
				return cell{} // the row is a sum or the budget
			}
			return text(fmt.Sprintf("%.1f%%", 100*float64(k.Bytes)/float64(max(cmp.Or(m.Budget, m.Used), 1))))
		}},
	}
}

func limitColumns() []column[Limit] {
	return []column[Limit]{
		{title: "Limit", of: func(l *Limit) cell { return text(l.Name) }},
		{title: "Used", right: true, of: func(l *Limit) cell {
			return number(l.Taken).as("bad", l.All > 0 && float64(l.Taken) > nearLimit*float64(l.All))
		}},
		{title: "Maximum", right: true, of: func(l *Limit) cell { return number(l.All).or(dim("none")) }},
		{title: "Unit", of: func(l *Limit) cell { return dim(l.Unit) }},
		{title: "Waiting", right: true,
			of: func(l *Limit) cell { return number(l.Waiting).or(dim("0")).as("bad", l.Waiting > 0) }},
		{title: "Flag", of: func(l *Limit) cell { return cell{Text: l.Flag, Class: "code"} }},
	}
}
