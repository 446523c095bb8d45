package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
)

// Severity is the urgency of a problem.
type Severity string

// The severities. Critical and Warning have the same meaning as in the alerts. A Notice may be normal operation.
const (
	Critical Severity = "critical"
	Warning  Severity = "warning"
	Notice   Severity = "notice"
)

// Problem is a fault of the facade or its surroundings, or a sign that a fault will occur soon.
type Problem struct {
	Severity Severity `json:"severity"`
	What     string   `json:"what"`             // one line
	Detail   string   `json:"detail,omitempty"` // additional facts
	// Runbook is the URL of the document about the problem, or the document's path in the repository (Status.Repository).
	Runbook string `json:"runbook,omitempty"`
	// Since is when the problem began; zero if the time is unknown. Replay is the command that serves the cluster as it
	// was at that time; empty without a journal or without a time.
	Since  time.Time `json:"since,omitzero"`
	Replay string    `json:"replay,omitempty"`
}

const (
	docs      = "docs/"
	runbook   = docs + "runbook.md#"
	operating = docs + "operating.md#"
)

// judge returns the problems, worst first.
func judge(s *Status) []Problem {
	var found []Problem
	for _, check := range []func(*Status) []Problem{
		leaving, unready, upstreamWrong, endpointsWrong, lanesWrong, lanesDiffer, watchesWrong, answersWrong, memoryWrong,
		limitsWrong, certificatesWrong, trustWrong, auditWrong, journalWrong,
	} {
		found = append(found, check(s)...)
	}
	order := []Severity{Critical, Warning, Notice}
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	for i := range found {
		if s.Repository != "" {
			found[i].Runbook = s.Repository + "/" + found[i].Runbook
		}
		found[i].Replay = replayCommand(s, found[i].Since)
	}
	return found
}

func one(severity Severity, what, detail, at string) []Problem {
	return []Problem{{Severity: severity, What: what, Detail: detail, Runbook: at}}
}

func leaving(s *Status) []Problem {
	switch {
	case s.Process.Draining:
		return one(Warning, "This replica is shutting down: watches end",
			"New watches are refused, and requests in flight finish.", operating+"the-operators-page")
	case s.Process.Leaving:
		return one(Warning, "This replica is shutting down: it is not ready, but still serves while load balancers remove it",
			"", operating+"the-operators-page")
	}
	return nil
}

// unready reports readiness checks that fail, except the check for shutdown.
func unready(s *Status) (found []Problem) {
	for _, check := range s.Health {
		if check.Error != "" && check.Name != "shutdown" {
			found = append(found, Problem{Severity: Critical, What: "Not ready: " + check.Name, Detail: check.Error,
				Runbook: runbook + "listfacadedown"})
		}
	}
	return found
}

// If the upstream has not responded for longer than silentLong, the problem is critical. Up to throttledFew 429
// responses to one kind of request in five minutes are no problem.
const (
	silentLong   = 10 * time.Second
	throttledFew = 3
)

func upstreamWrong(s *Status) (found []Problem) {
	u := &s.Upstream
	if silent := seconds(u.SilentSeconds); silent > time.Second {
		severity := Warning
		if silent > silentLong {
			severity = Critical
		}
		detail := "Its address is " + u.Endpoint +
			". Open watches stay open but receive no events, and consistent reads are refused (503)."
		if s.Bounds.MaxStaleness > 0 {
			detail += " After " + duration(s.Bounds.MaxStaleness) +
				" without a message (--max-staleness), all other reads are refused, too."
		}
		if u.LastError != "" {
			detail += " Last error: " + u.LastError
		}
		found = append(found, Problem{
			Severity: severity, What: "kube-apiserver has not responded for " + duration(silent), Detail: detail,
			Runbook: runbook + "listfacadelanestale", Since: s.At.Add(-silent),
		})
	}
	for _, q := range u.Questions {
		if q.Throttled > throttledFew {
			found = append(found, Problem{
				Severity: Warning, What: fmt.Sprintf("kube-apiserver throttles: %s of %s requests (%s) got 429 in five minutes",
					count(q.Throttled), count(q.Count), q.Request),
				Runbook: runbook + "listfacadeupstreamthrottles",
				Since:   first(s, func(m *oplog.Moment) int { return m.Throttled }),
			})
		}
		if bad := q.Unanswered + q.Refused + q.Failed + q.Throttled; q.Request == "review" && bad*20 > q.Count &&
			u.SilentSeconds == 0 {
			found = append(found, Problem{
				Severity: Critical, What: fmt.Sprintf("Reviews of callers fail: %s of %s in five minutes", count(bad),
					count(q.Count)),
				Detail: fmt.Sprintf("No response: %d, 401 or 403: %d, 429: %d, 5xx: %d.", q.Unanswered, q.Refused, q.Throttled,
					q.Failed),
				Runbook: runbook + "listfacadereviewsfail",
			})
		}
	}
	return found
}

func endpointsWrong(s *Status) (found []Problem) {
	for _, e := range s.Upstream.Endpoints {
		if e.Ready || e.Why == "" {
			continue
		}
		detail := e.Why + ". It is listed in --upstream, but not in use."
		if e.InUse {
			detail = e.Why + ". It is in use, because no other endpoint of --upstream is ready."
		}
		found = append(found, Problem{Severity: Warning, What: "kube-apiserver " + e.Host + " is not ready", Detail: detail,
			Runbook: runbook + "listfacadeendpointnotready"})
	}
	return found
}

func watchesWrong(s *Status) []Problem {
	bound := s.Bounds.SlowWatchLag.Seconds()
	if bound == 0 {
		return nil
	}
	behind, worst := 0, observe.Open{}
	for _, w := range s.Behind {
		if w.OpenWatch != nil && w.LagSeconds > bound {
			if behind++; behind == 1 || w.LagSeconds > worst.LagSeconds {
				worst = w
			}
		}
	}
	if behind == 0 {
		return nil
	}
	detail := fmt.Sprintf("The watch with the longest lag lags by %s: user %s, resource %s, user agent %s. It waits for: %s.",
		duration(seconds(worst.LagSeconds)),
		cmp.Or(worst.User, "unknown"), worst.Resource, worst.UserAgent, cmp.Or(worst.WaitsFor, "nothing"))
	return []Problem{{
		Severity: Warning, What: plural(behind, "watch lags behind", "watches lag behind") + " by more than " +
			duration(s.Bounds.SlowWatchLag), Detail: detail, Runbook: runbook + "listfacadewatchesexpire",
		Since: s.At.Add(-seconds(worst.LagSeconds)),
	}}
}

// failedShare and forwardedShare are the tolerated shares of failed and forwarded requests. With fewer than
// enoughAnswers requests, the share of forwarded requests is ignored.
const (
	failedShare    = 0.01
	forwardedShare = 0.3
	enoughAnswers  = 100
)

func answersWrong(s *Status) (found []Problem) {
	var all, failed, refused, forwarded int
	for _, m := range recent(s) {
		all += m.Cache + m.Upstream + m.Facade
		failed, refused, forwarded = failed+m.Failed, refused+m.Refused, forwarded+m.Upstream
	}
	if failed > 0 && float64(failed) > failedShare*float64(all) {
		found = append(found, Problem{
			Severity: Warning, What: fmt.Sprintf("%s of %s requests failed (5xx) in five minutes", count(failed), count(all)),
			Runbook: runbook + "listfacadeerrorbudgetburn",
			Since:   first(s, func(m *oplog.Moment) int { return m.Failed }),
		})
	}
	if refused > 0 {
		found = append(found, Problem{
			Severity: Notice, What: plural(refused, "request was", "requests were") + " refused with 429 in five minutes",
			Detail:  "The cause is in the table Limits or Memory, or is another problem on this page, such as failed reviews.",
			Runbook: runbook + "listfacadeheavylists",
			Since:   first(s, func(m *oplog.Moment) int { return m.Refused }),
		})
	}
	if all >= enoughAnswers && float64(forwarded) > forwardedShare*float64(all) {
		found = append(found, Problem{
			Severity: Notice, What: fmt.Sprintf("%d%% of requests are forwarded to kube-apiserver", 100*forwarded/all),
			Detail:  "The table Top clients, by forwarded, shows the callers.",
			Runbook: runbook + "listfacadeforwardsreads",
		})
	}
	return found
}

// recent returns the moments of the last five minutes.
func recent(s *Status) []oplog.Moment {
	return s.History[max(0, len(s.History)-int(Window/oplog.HistoryStep)):]
}

// first returns the start of the first moment with a count above 0, within the last five minutes; zero if there is
// none.
func first(s *Status, count func(*oplog.Moment) int) time.Time {
	moments := recent(s)
	for i := range moments {
		if count(&moments[i]) > 0 {
			return moments[i].At
		}
	}
	return time.Time{}
}

func auditWrong(s *Status) []Problem {
	lost := 0
	for _, m := range recent(s) {
		lost += m.AuditLost
	}
	if lost == 0 {
		return nil
	}
	return one(Critical, "The audit log lost "+plural(lost, "event", "events")+" in five minutes",
		"The disk below --audit-log-path is full or slow.", operating+"audit-log")
}

// journalLag is the time without a write after which the journal is a problem. The alert has the same value.
const journalLag = time.Minute

func journalWrong(s *Status) []Problem {
	const notWritten, overLimit = runbook + "listfacadejournalnotwritten", runbook + "listfacadejournaloverlimit"
	switch j := s.Journal; {
	case j == nil:
		return nil
	case !j.Open:
		return one(Warning, "The journal could not be opened",
			"Another process writes it, or the directory is not accessible.",
			notWritten)
	case seconds(j.LagSeconds) > journalLag:
		return one(Warning, "The journal was last written "+duration(seconds(j.LagSeconds))+" ago",
			"The disk below --journal-dir is full or slow.", notWritten)
	case j.Over:
		return one(Warning, "The journal exceeds --journal-max-bytes", "Its newest files alone take "+size(j.Bytes)+".",
			overLimit)
	}
	return nil
}

func plural(n int, single, many string) string {
	if n == 1 {
		return "1 " + single
	}
	return count(n) + " " + many
}

// list joins at most five names, and adds the number of the other names.
func list(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}
