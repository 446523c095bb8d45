// Package incidents stages what operators of a facade are woken for, with real clients in front of a real
// kube-apiserver, and holds that they are told what is wrong and who did it: the alerts of deploy/monitoring that fire,
// and no others; what /debug/clients, /debug/watches, /debug/requests and the operator's page show; the lines of the
// log; what "listfacade top" prints; and that all of it ends with its cause. docs/runbook.md has a section for each
// incident.
//
// Alerts are evaluated by promtool, on the rules as they are shipped, over scrapes of the running facade. A scrape
// stands for a minute: what was counted since the one before is what would have been in a minute that went on like it.
package incidents
