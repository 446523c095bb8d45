package assess

import (
	"bytes"
	"hash/maphash"
	"time"

	"github.com/listfacade/listfacade/internal/assess/auditlog"
)

// use is a kind of request of a client, with the sums of its requests.
type use struct {
	Client
	verb, group, resource, subresource string
	shape

	requests int           // that have ended
	failed   int           // requests with a status code of 400 or above
	took     time.Duration // sum of the durations of requests that did not fail, except watches
	watches  watchTimes

	// Only without an audit log: sent is the number of events sent to the watches, and found is the number of seats in
	// which the user was found.
	sent, found float64
}

// watchTimes are sums from which open computes how long watches were open. The events may come in any order, so the
// start of the log is known only after the last event. Until settle is called, times are relative to tally.origin.
// After settle, they are relative to the start of the log. A use that is folded (tally.fold) is settled early, with the
// earliest event so far as the start; only its lifetime is kept.
type watchTimes struct {
	started  int           // watches that began in the log
	starts   time.Duration // sum of the start times of the started watches
	ended    int           // started watches that also ended in the log
	ends     time.Duration // sum of the start times of the ended watches
	lifetime time.Duration // sum of the lifetimes of all watches that ended, without the time before the log
	early    []span        // ended watches that began before the earliest event so far; settle adds them to the sums
}

type span struct{ from, to time.Duration }

// end adds a watch that ended in a log with the given start.
func (w *watchTimes) end(s span, start time.Duration) {
	w.lifetime += max(s.to-max(s.from, start), 0)
	if s.from >= start {
		w.ended++
		w.ends += s.from
	}
}

// settle makes all times relative to the start of the log.
func (w *watchTimes) settle(start time.Duration) {
	for _, s := range w.early {
		w.end(s, start)
	}
	w.early = nil
	w.starts -= time.Duration(w.started) * start
	w.ends -= time.Duration(w.ended) * start
}

// open returns for how long the watches were open up to the end of a log of this length. Watches that began before the
// log and have not ended are unknown.
func (w *watchTimes) open(length time.Duration) time.Duration {
	if w.started < w.ended { // the log lacks the beginnings of some or all watches
		return w.lifetime
	}
	return w.lifetime + time.Duration(w.started-w.ended)*length - (w.starts - w.ends)
}

// raw is the key of a use before it is stored. Its texts share memory with the log.
type raw struct {
	user, program, verb, group, resource, subresource []byte
	shape
}

func rawOf(e *auditlog.Event) raw {
	user, _ := userOf(e.User)
	k := raw{
		user: user, program: programOf(e.Agent), verb: e.Verb, group: e.Group, resource: e.Resource,
		subresource: e.Subresource,
	}
	k.certificate, k.impersonates = e.Certificate, e.Impersonates
	switch {
	case len(e.Resource) == 0:
		k.resource, k.group, k.subresource = pathOf(e.URI), nil, nil
		return k
	case len(e.Name) > 0:
		k.scope = oneObject
	case len(e.Namespace) > 0:
		k.scope = oneNamespace
	}
	if isRead(k.verb) {
		k.read(e.URI)
	}
	if string(k.verb) == "get" { // limits and selectors have no effect on a get
		k.limit, k.selects, k.initial = 0, selectsAll, false
	}
	return k
}

func isRead(verb []byte) bool {
	return string(verb) == "get" || string(verb) == "list" || string(verb) == "watch"
}

var documents = [][]byte{
	[]byte("/openapi"), []byte("/apis"), []byte("/api"), []byte("/version"), []byte("/healthz"), []byte("/livez"),
	[]byte("/readyz"), []byte("/metrics"), []byte("/debug"), []byte("/.well-known"), []byte("/openid"), []byte("/logs"),
}

// pathOf returns the prefix in documents with which the path begins, or "/".
func pathOf(uri []byte) []byte {
	path, _, _ := bytes.Cut(uri, []byte{'?'})
	for _, document := range documents {
		if rest, ok := bytes.CutPrefix(path, document); ok && (len(rest) == 0 || rest[0] == '/') {
			return document
		}
	}
	return []byte("/")
}

// digest returns a hash of the key. The probability that two of 16,384 keys have the same hash is below 1 in 10^10.
func (k *raw) digest(seed maphash.Seed) uint64 {
	const spread = 0x9e3779b97f4a7c15
	h := maphash.Comparable(seed, k.shape)
	for _, text := range [...][]byte{k.user, k.program, k.verb, k.group, k.resource, k.subresource} {
		h = (h<<29|h>>35)*spread ^ maphash.Bytes(seed, text)
	}
	return h
}

func (k *raw) use() *use {
	return &use{
		Client: clientOf(k.user, k.program), verb: printable(k.verb), group: printable(k.group),
		resource: printable(k.resource), subresource: printable(k.subresource), shape: k.shape,
	}
}

func (u *use) add(e *auditlog.Event, t *tally) {
	if e.Stage == auditlog.Started {
		if u.verb == watchVerb {
			u.watches.started++
			u.watches.starts += max(e.Received.Sub(t.origin), t.start())
		}
		return
	}
	u.requests++
	lasted := max(e.At.Sub(e.Received), 0)
	switch {
	case e.Code >= 400:
		u.failed++
	case u.verb != watchVerb:
		u.took += lasted
		return
	}
	if u.verb == watchVerb {
		t.ended(&u.watches, span{from: e.Received.Sub(t.origin), to: e.At.Sub(t.origin)})
	}
}

const (
	getVerb   = "get"
	listVerb  = "list"
	watchVerb = "watch"
)

// fold adds the sums of another use, except the time of watches that are still open.
func (u *use) fold(other *use) {
	u.requests += other.requests
	u.failed += other.failed
	u.took += other.took
	u.watches.lifetime += other.watches.lifetime
}

// weight returns a rough cost of the use. tally.shrink keeps the uses with the highest weights.
func (u *use) weight() time.Duration {
	const request, event = time.Millisecond, 1000 // an open watch weighs as much as a request a second
	return u.took + time.Duration(u.requests+u.watches.started)*request + u.watches.lifetime/event
}
