package assess

import (
	"errors"
	"fmt"

	"github.com/listfacade/listfacade/internal/assess/auditlog"
)

// EmptyLogError is returned for logs without a request.
type EmptyLogError struct{ Counts auditlog.Counts }

func (e *EmptyLogError) Error() string {
	if e.Counts.Broken == 0 {
		return "the audit log has no request that ended: wait until kube-apiserver has written some, and check that its " +
			"policy does not omit the stage ResponseComplete"
	}
	return fmt.Sprintf("no request ended in %d lines, and some lines are not audit events (%q): give a log that kube-apiserver wrote with "+
		"--audit-log-format=json and a policy of level Metadata or above", e.Counts.Lines, e.Counts.FirstBroken)
}

var (
	errOutput   = errors.New("--output must be table or json")
	errLimit    = errors.New("--limit must not be negative")
	errSample   = errors.New("--sample-for must be at least 2s")
	errTwoSizes = errors.New("--metrics and a kubeconfig both give the sizes of objects: use one of them")
)
