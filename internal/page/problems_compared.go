package page

import (
	"slices"
	"time"
)

// differedFor is how long the page shows a difference if the facade has listed the lane again because of it. The page
// shows any other difference until the self-audit finds none. overdueAfter is the number of self-audit intervals after
// which a comparison is overdue. The alerts have the same values.
const (
	differedFor  = time.Hour
	overdueAfter = 3
)

// lanesDiffer reports lanes that differed from kube-apiserver. All lanes with an overdue comparison are one problem.
func lanesDiffer(s *Status) (found []Problem) {
	var overdue []string
	oldest := time.Duration(0)
	for i := range s.Lanes {
		lane := &s.Lanes[i]
		name := lane.Name() + " (" + lane.Encoding + ")"
		if d := lane.Differed; d != nil && (!d.Relisted || s.At.Sub(d.At) < differedFor) {
			detail := "The resource was listed again because of the difference."
			if !d.Relisted {
				detail = "The resource was not listed again, because an earlier list did not remove the differences."
			}
			found = append(found, Problem{
				Severity: Critical, What: name + " differed from kube-apiserver: " + plural(d.Objects, "object", "objects") + ", " +
					ago(s.At, d.At),
				Detail: detail + " The log contains the differences.", Runbook: runbook + "listfacadeselfauditdiffers",
				Since: d.At,
			})
		}
		age := seconds(lane.AuditAgeSeconds)
		if s.Bounds.SelfAudit > 0 && age > overdueAfter*s.Bounds.SelfAudit &&
			slices.Contains([]State{Synced, Stale, Relisting}, lane.State) {
			overdue, oldest = append(overdue, name), max(oldest, age)
		}
	}
	if len(overdue) > 0 {
		found = append(found, Problem{
			Severity: Warning, What: plural(len(overdue), "resource has", "resources have") +
				" not been compared with kube-apiserver for " + duration(oldest),
			Detail:  list(overdue) + ". --self-audit-interval is " + duration(s.Bounds.SelfAudit) + ".",
			Runbook: runbook + "listfacadeselfauditoverdue",
		})
	}
	return found
}
