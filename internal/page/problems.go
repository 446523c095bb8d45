package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
)

// Severity says how urgent a problem is.
type Severity string

// The severities, as alerts have them; Notice is what may be as it should.
const (
	Critical Severity = "critical"
	Warning  Severity = "warning"
	Notice   Severity = "notice"
)

// Problem is something that is wrong, or about to be.
type Problem struct {
	Severity Severity `json:"severity"`
	What     string   `json:"what"`             // in one line
	Detail   string   `json:"detail,omitempty"` // what else is known of it
	// Runbook is the URL of what is said about it: what it means, what to look at, what to do.
	Runbook string `json:"runbook,omitempty"`
}

const (
	docs      = "https://github.com/listfacade/listfacade/blob/main/docs/"
	runbook   = docs + "runbook.md#"
	operating = docs + "operating.md#"
)

// judge says what is wrong, the worst first.
func judge(s *Status) []Problem {
	var found []Problem
	for _, look := range []func(*Status) []Problem{
		leaving, unready, upstreamWrong, endpointsWrong, lanesWrong, lanesDiffer, watchesWrong, answersWrong, memoryWrong, limitsWrong, certificatesWrong, trustWrong, auditWrong,
	} {
		found = append(found, look(s)...)
	}
	order := []Severity{Critical, Warning, Notice}
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	return found
}

func one(severity Severity, what, detail, at string) []Problem {
	return []Problem{{Severity: severity, What: what, Detail: detail, Runbook: at}}
}

// leaving is a process that ends.
func leaving(s *Status) []Problem {
	switch {
	case s.Process.Draining:
		return one(Warning, "This replica is shutting down: watches end", "New watches are refused, and requests under way finish.", operating+"the-operators-page")
	case s.Process.Leaving:
		return one(Warning, "This replica is shutting down: it is not ready, and serves on until load balancers have noticed", "", operating+"the-operators-page")
	}
	return nil
}

// unready is a condition of readiness that does not hold, but for what a process that ends has.
func unready(s *Status) (found []Problem) {
	for _, check := range s.Health {
		if check.Error != "" && check.Name != "shutdown" {
			found = append(found, Problem{Severity: Critical, What: "Not ready: " + check.Name, Detail: check.Error, Runbook: runbook + "listfacadedown"})
		}
	}
	return found
}

// How long the upstream may give no answer before that is urgent, and how many of its questions it may answer 429.
const (
	silentLong   = 10 * time.Second
	throttledFew = 3
)

func upstreamWrong(s *Status) (found []Problem) {
	u := &s.Upstream
	if unheard := seconds(u.SilentSeconds); unheard > time.Second {
		severity := Warning
		if unheard > silentLong {
			severity = Critical
		}
		detail := "It is " + u.Endpoint + ". Open watches stay open and hear nothing; consistent reads are refused (503)"
		if s.Bounds.MaxStaleness > 0 {
			detail += "; others too when nothing was heard for " + duration(s.Bounds.MaxStaleness) + " (--max-staleness)"
		}
		if u.LastError != "" {
			detail += ". Last error: " + u.LastError
		}
		found = append(found, Problem{
			Severity: severity, What: "kube-apiserver gives no answer, for " + duration(unheard), Detail: detail, Runbook: runbook + "listfacadelanestale",
		})
	}
	for _, q := range u.Questions {
		if q.Throttled > throttledFew {
			found = append(found, Problem{
				Severity: Warning, What: fmt.Sprintf("kube-apiserver throttles: %s of %s questions (%s) answered 429 in five minutes", count(q.Throttled), count(q.Count), q.Request),
				Runbook: runbook + "listfacadeupstreamthrottles",
			})
		}
		if bad := q.Unanswered + q.Refused + q.Failed + q.Throttled; q.Request == "review" && bad*20 > q.Count && u.SilentSeconds == 0 {
			found = append(found, Problem{
				Severity: Critical, What: fmt.Sprintf("Reviews of callers fail: %s of %s in five minutes", count(bad), count(q.Count)),
				Detail:  fmt.Sprintf("No answer %d, 401 or 403 %d, 429 %d, 5xx %d.", q.Unanswered, q.Refused, q.Throttled, q.Failed),
				Runbook: runbook + "listfacadereviewsfail",
			})
		}
	}
	return found
}

// endpointsWrong is of several kube-apiservers of which some could not be asked.
func endpointsWrong(s *Status) (found []Problem) {
	for _, e := range s.Upstream.Endpoints {
		if e.Ready || e.Why == "" {
			continue
		}
		detail := e.Why + ". It is one of --upstream, and not the one that is asked."
		if e.InUse {
			detail = e.Why + ". It is the one of --upstream that is asked, and there is no other."
		}
		found = append(found, Problem{Severity: Warning, What: "kube-apiserver " + e.Host + " cannot be relied upon", Detail: detail, Runbook: runbook + "listfacadeendpointnotready"})
	}
	return found
}

// watchesWrong is of watches that are behind.
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
	detail := fmt.Sprintf("The furthest is %s's on %s (%s), behind by %s: it waits for %s.", cmp.Or(worst.User, "nobody"), worst.Resource, worst.UserAgent,
		duration(seconds(worst.LagSeconds)), cmp.Or(worst.WaitsFor, "nobody"))
	return one(Warning, plural(behind, "watch is behind", "watches are behind")+" by more than "+duration(s.Bounds.SlowWatchLag), detail, runbook+"listfacadewatchesexpire")
}

// What share of answers may fail, and how many there are at least for a share to mean something.
const (
	failedShare    = 0.01
	forwardedShare = 0.3
	enoughAnswers  = 100
)

// answersWrong is of what clients were answered in the last five minutes.
func answersWrong(s *Status) (found []Problem) {
	var all, failed, refused, forwarded int
	for _, m := range recent(s) {
		all += m.Cache + m.Upstream + m.Facade
		failed, refused, forwarded = failed+m.Failed, refused+m.Refused, forwarded+m.Upstream
	}
	if failed > 0 && float64(failed) > failedShare*float64(all) {
		found = append(found, Problem{
			Severity: Warning, What: fmt.Sprintf("%s of %s requests failed (5xx) in five minutes", count(failed), count(all)), Runbook: runbook + "listfacadeerrorbudgetburn",
		})
	}
	if refused > 0 {
		found = append(found, Problem{
			Severity: Notice, What: plural(refused, "request was", "requests were") + " answered 429 in five minutes", Detail: "Limits and memory say for want of what.",
			Runbook: runbook + "listfacadeheavylists",
		})
	}
	if all >= enoughAnswers && float64(forwarded) > forwardedShare*float64(all) {
		found = append(found, Problem{
			Severity: Notice, What: fmt.Sprintf("%d%% of requests go on to kube-apiserver", 100*forwarded/all), Detail: "Top clients by forwarded requests say whose, and why.",
			Runbook: runbook + "listfacadeforwardsreads",
		})
	}
	return found
}

// recent are the moments of the last five minutes.
func recent(s *Status) []observe.Moment {
	return s.History[max(0, len(s.History)-int(Window/observe.HistoryStep)):]
}

// auditWrong is of events that the audit log has lost.
func auditWrong(s *Status) []Problem {
	lost := 0
	for _, m := range recent(s) {
		lost += m.AuditLost
	}
	if lost == 0 {
		return nil
	}
	return one(Critical, "The audit log lost "+plural(lost, "event", "events")+" in five minutes", "The disk below --audit-log-path is full or slow.", operating+"audit-log")
}

func plural(n int, single, many string) string {
	if n == 1 {
		return "1 " + single
	}
	return count(n) + " " + many
}

// list names some of what there is.
func list(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}
