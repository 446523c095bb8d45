package main

import (
	"github.com/spf13/pflag"

	"github.com/listfacade/listfacade/internal/facade"
)

func auditFlags(c *facade.Config, f *pflag.FlagSet) {
	a := &c.Audit
	f.StringVar(&a.PolicyFile, "audit-policy-file", a.PolicyFile,
		"Path of the `file` with the audit policy (audit.k8s.io/v1 Policy), as for kube-apiserver. It selects the requests that are logged. If empty, there is no audit log.")
	f.StringVar(&a.Path, "audit-log-path", a.Path, "Path of the audit log `file`; - means stdout.")
	f.IntVar(&a.MaxAge, "audit-log-maxage", a.MaxAge,
		"Maximum number of `days` to keep rotated audit log files. 0 means no limit.")
	f.IntVar(&a.MaxBackups, "audit-log-maxbackup", a.MaxBackups,
		"Maximum `number` of rotated audit log files to keep. 0 means no limit.")
	f.IntVar(&a.MaxSize, "audit-log-maxsize", a.MaxSize,
		"Size in `MiB` at which the audit log file is rotated. 0 means never.")
	f.BoolVar(&a.Compress, "audit-log-compress", a.Compress, "Compress rotated audit log files with gzip.")
	f.StringVar(&a.Mode, "audit-log-mode", a.Mode,
		"How requests wait for the audit log. batch: requests do not wait, and events are dropped and counted when the buffer is full. "+
			"blocking: requests wait until their event is written. blocking-strict: like blocking, and a request is rejected if its event cannot be written.")
	f.StringVar(&a.Format, "audit-log-format", a.Format, "Format of the audit log: json or legacy.")
}
