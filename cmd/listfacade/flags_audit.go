package main

import (
	"github.com/spf13/pflag"

	"github.com/listfacade/listfacade/internal/facade"
)

func auditFlags(c *facade.Config, f *pflag.FlagSet) {
	a := &c.Audit
	f.StringVar(&a.PolicyFile, "audit-policy-file", a.PolicyFile,
		"`file` with a Policy of audit.k8s.io/v1, as kube-apiserver takes it, that says which requests are written down")
	f.StringVar(&a.Path, "audit-log-path", a.Path, "`file` of the audit log; - is stdout")
	f.IntVar(&a.MaxAge, "audit-log-maxage", a.MaxAge, "after how many `days` files that were full are removed; 0 removes none")
	f.IntVar(&a.MaxBackups, "audit-log-maxbackup", a.MaxBackups, "how `many` files that were full are kept; 0 keeps all")
	f.IntVar(&a.MaxSize, "audit-log-maxsize", a.MaxSize, "at how many `MiB` the file is full and another begun; 0 is never")
	f.BoolVar(&a.Compress, "audit-log-compress", a.Compress, "compress files that were full, with gzip")
	f.StringVar(&a.Mode, "audit-log-mode", a.Mode,
		"batch (requests do not wait; what there is no room for is dropped and counted), blocking (until the line is written) or "+
			"blocking-strict (and are refused when it cannot be)")
	f.StringVar(&a.Format, "audit-log-format", a.Format, "json or legacy")
}
