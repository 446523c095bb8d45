package page

import (
	"slices"
	"time"
)

// How long what the self-audit has found is told, and after how many intervals a lane should have been compared, as the
// alerts have it. What a lane was not listed again for is told until a pass of the self-audit finds nothing.
const (
	differedFor  = time.Hour
	overdueAfter = 3
)

// lanesDiffer is of lanes that were not what kube-apiserver has. Those that nobody knows it of are one problem.
func lanesDiffer(s *Status) (found []Problem) {
	var overdue []string
	oldest := time.Duration(0)
	for i := range s.Lanes {
		lane := &s.Lanes[i]
		name := lane.Name() + " (" + lane.Encoding + ")"
		if d := lane.Differed; d != nil && (!d.Mended || s.At.Sub(d.At) < differedFor) {
			detail := "It was listed again for it."
			if !d.Mended {
				detail = "It was not listed again for it, which did not help before."
			}
			found = append(found, Problem{
				Severity: Critical, What: name + " was not what kube-apiserver has: " + plural(d.Objects, "object", "objects") + ", " + ago(s.At, d.At),
				Detail: detail + " The log says what differs.", Runbook: runbook + "listfacadeselfauditdiffers",
			})
		}
		age := seconds(lane.AuditAgeSeconds)
		if s.Bounds.SelfAudit > 0 && age > overdueAfter*s.Bounds.SelfAudit && slices.Contains([]State{Synced, Stale, Relisting}, lane.State) {
			overdue, oldest = append(overdue, name), max(oldest, age)
		}
	}
	if len(overdue) > 0 {
		found = append(found, Problem{
			Severity: Warning, What: plural(len(overdue), "resource was", "resources were") + " not compared with kube-apiserver for " + duration(oldest),
			Detail: list(overdue) + ". --self-audit-interval is " + duration(s.Bounds.SelfAudit) + ".", Runbook: runbook + "listfacadeselfauditoverdue",
		})
	}
	return found
}
