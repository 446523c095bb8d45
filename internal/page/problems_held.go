package page

import (
	"fmt"
	"time"
)

// A lane without a message from the upstream is a warning after behindAfter, and critical after staleAfter, as in the
// alert.
const (
	behindAfter = 10 * time.Second
	staleAfter  = time.Minute
)

// fillLong is the time after which an unfinished list of a lane is a warning. relistsMany is the number of relists that
// are tolerated in 30 minutes.
const (
	fillLong    = 15 * time.Minute
	relistsMany = 3
)

// lanesWrong reports lanes that are not synced, or are often listed again. All stale lanes together are one problem.
func lanesWrong(s *Status) (found []Problem) {
	var stale []string
	oldest := time.Duration(0)
	for i := range s.Lanes {
		lane := &s.Lanes[i]
		name := lane.Name() + " (" + lane.Encoding + ")"
		found = append(found, laneWrong(lane, name)...)
		if lane.State == Stale && seconds(lane.StaleSeconds) > behindAfter {
			stale, oldest = append(stale, name), max(oldest, seconds(lane.StaleSeconds))
		}
		if lane.Relists > relistsMany {
			found = append(found, Problem{
				Severity: Warning, What: fmt.Sprintf("%s was listed again %d times in 30 minutes", name, lane.Relists),
				Detail:  "Last time: " + ago(s.At, lane.LastRelist) + ".",
				Runbook: runbook + "listfacaderelistloop", // no Since, because the time of the first relist is unknown
			})
		}
	}
	if len(stale) > 0 {
		severity := Warning
		if oldest > staleAfter {
			severity = Critical
		}
		detail := list(stale)
		if limit := s.Bounds.MaxStaleness; limit > 0 && oldest > limit {
			detail += ". This exceeds --max-staleness: reads are refused (503)"
		}
		found = append(found, Problem{
			Severity: severity, What: plural(len(stale), "resource is stale", "resources are stale") +
				": no message from kube-apiserver for " + duration(oldest), Detail: detail,
			Runbook: runbook + "listfacadelanestale", Since: s.At.Add(-oldest),
		})
	}
	return found
}

func laneWrong(lane *Lane, name string) []Problem {
	switch lane.State {
	case Syncing, Relisting:
		severity := Notice
		if seconds(lane.AgeSeconds) > fillLong && lane.State == Syncing {
			severity = Warning
		}
		return one(severity, name+" is "+map[State]string{Syncing: "being listed",
			Relisting: "being listed again"}[lane.State]+filled(lane), lane.Why, runbook+"listfacadelanenotfilled")
	case Failing:
		return one(Critical, name+" is not filled", lane.Why, runbook+"listfacadelanenotfilled")
	case Refused:
		return one(Warning, "The facade cannot cache "+name+"; requests are forwarded or refused", lane.Why,
			runbook+"listfacademaynotread")
	case NoMemory:
		return one(Critical, "Not enough memory to cache "+name, lane.Why, runbook+"listfacadememorynearbudget")
	case Synced, Stale:
	}
	return nil
}

func filled(lane *Lane) string {
	switch {
	case lane.Expected > 0:
		return fmt.Sprintf(": %s of about %s objects, about %s left", count(lane.Filled), count(lane.Expected),
			duration(max(seconds(lane.LeftSeconds), time.Second)))
	case lane.Filled > 0:
		return ": " + count(lane.Filled) + " objects so far"
	}
	return ""
}

// nearBudget is the share of the memory budget above which the page reports the memory in use.
const nearBudget = 0.8

func memoryWrong(s *Status) (found []Problem) {
	m := &s.Memory
	if m.Budget > 0 && float64(m.Used) > nearBudget*float64(m.Budget) {
		found = append(found, Problem{
			Severity: Warning, What: fmt.Sprintf("Memory is near its budget: %s of %s (%d%%)", size(m.Used), size(m.Budget),
				100*m.Used/m.Budget),
			Detail:  "Precompressed pages are dropped first, then history, then the least used resources.",
			Runbook: runbook + "listfacadememorynearbudget",
		})
	}
	refused := int64(0)
	for _, n := range m.Refused {
		refused += n
	}
	if refused > 0 {
		found = append(found, Problem{
			Severity: Notice, What: plural(int(refused), "request was", "requests were") +
				" refused for lack of memory since the start", Runbook: runbook + "listfacadememoryrefuses",
		})
	}
	return found
}

// nearLimit is the share of a limit above which the page reports the use of the limit.
const nearLimit = 0.9

func limitsWrong(s *Status) (found []Problem) {
	for _, l := range s.Limits {
		if l.All > 0 && float64(l.Taken) > nearLimit*float64(l.All) || l.Waiting > 0 {
			detail := ""
			if l.Flag != "" {
				detail = "The flag of the limit is " + l.Flag + "."
			}
			found = append(found, Problem{
				Severity: Warning, What: fmt.Sprintf("%s: %s of %s in use, %s waiting", l.Name, count(l.Taken), count(l.All),
					count(l.Waiting)), Detail: detail,
				Runbook: runbook + "listfacadeheavylists",
			})
		}
	}
	return found
}

// A certificate whose remaining lifetime is below endsSoon is a warning, and below endsNow it is critical, as in the
// alerts.
const (
	endsSoon = 7 * 24 * time.Hour
	endsNow  = 24 * time.Hour
)

func certificatesWrong(s *Status) (found []Problem) {
	for _, c := range s.Certificates {
		left := c.NotAfter.Sub(s.At)
		if left > endsSoon {
			continue
		}
		p := Problem{Severity: Warning, What: "The " + c.Name + " certificate expires in " + duration(left),
			Detail: "Expires at " + stamp(c.NotAfter) + ".", Runbook: runbook + "listfacadecertificateexpires"}
		if left < endsNow {
			p.Severity = Critical
		}
		if left <= 0 {
			p.What = "The " + c.Name + " certificate expired " + duration(-left) + " ago"
		}
		found = append(found, p)
	}
	return found
}

func trustWrong(s *Status) []Problem {
	if s.Untrusted == "" {
		return nil
	}
	return one(Warning, "CA certificates that verify callers cannot be read", s.Untrusted,
		operating+"certificate-authorities")
}
