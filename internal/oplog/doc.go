// Package oplog is the operation log. It writes the facade's log lines about requests, and keeps recent slow requests
// and statistics for the operator's page.
//
// SlowLog logs slow requests and keeps the last ones. History keeps statistics of the last 15 minutes. The memory of
// both is bounded. Few(log) limits lines that clients can cause at will. Level changes the log level at run time.
//
// The package starts timers that reset the log level, and no goroutines. It keeps no reference to an observe.Event.
package oplog
