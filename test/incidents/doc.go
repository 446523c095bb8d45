// Package incidents causes the incidents of docs/runbook.md, with real clients and a real kube-apiserver. Each test
// checks that the operator can see the fault and the client that causes it: exactly the expected alerts of
// deploy/monitoring fire, and /debug/clients, /debug/watches, /debug/requests, the operator's page, the log and
// "listfacade top" show the cause. The alerts end after the cause has ended.
//
// promtool evaluates the shipped alert rules over scrapes of the running facade. Each scrape counts as one minute: the
// test scales the increase of each counter between two scrapes to one minute.
package incidents
