package assess

import (
	"math"
	"strings"
	"time"
)

// unknownUser is the user of watches, and of requests that were not found in flight.
const unknownUser = "(unknown)"

type difference struct {
	before, after *scrape
	seen          *seats
	length        time.Duration
}

// verbs maps a verb in the metrics to the verb of the request, if they differ.
var verbs = map[string]string{"post": "create", "put": "update", "apply": "patch"}

func (d *difference) totals() map[kind]total {
	all := map[kind]total{}
	for k, after := range d.after.totals {
		before := d.before.totals[k]
		t := total{
			requests: after.requests - before.requests, failed: after.failed - before.failed,
			seconds: after.seconds - before.seconds, open: (after.open + before.open) / 2,
		}
		if t.requests < 0 { // kube-apiserver has restarted
			t = after
		}
		if k.resource != "" && (t.requests > 0 || t.open > 0) {
			all[k] = t
		}
	}
	return all
}

// uses returns one use for each kind of request and each user that was found in flight. If none was found, the user is
// unknownUser.
func (d *difference) uses() (all []*use) {
	open := d.open()
	for k, t := range d.totals() {
		verb := k.verb
		if name, ok := verbs[verb]; ok {
			verb = name
		}
		users := d.seen.found[work{verb, k.group, k.resource}]
		sum := 0.0
		for _, n := range users {
			sum += n
		}
		if sum == 0 || verb == watchVerb {
			users, sum = map[string]float64{unknownUser: 1}, 1
		}
		for user, n := range users {
			u := d.use(k, t, n/sum)
			u.verb, u.Client = verb, Client{User: user}
			if user != unknownUser {
				u.found = n
			}
			if watches := open[resource{k.group, k.resource}]; verb == watchVerb && watches > 0 {
				u.sent = d.sent(resource{k.group, k.resource}) * t.open / watches
			}
			all = append(all, u)
		}
	}
	return all
}

func (d *difference) use(k kind, t total, share float64) *use {
	u := &use{group: k.group, resource: k.resource, subresource: k.subresource}
	u.requests, u.failed = int(math.Round(t.requests*share)), int(math.Round(t.failed*share))
	if k.verb == watchVerb {
		u.watches.lifetime = time.Duration(t.open * share * float64(d.length))
	} else {
		u.took = time.Duration(t.seconds * share * float64(time.Second))
	}
	switch {
	case strings.EqualFold(k.scope, "resource"):
		u.scope = oneObject
	case strings.EqualFold(k.scope, "namespace"):
		u.scope = oneNamespace
	default:
		u.selects = selectsSome // the request may have selectors or a limit
	}
	return u
}

func (d *difference) open() map[resource]float64 {
	all := map[resource]float64{}
	for k, t := range d.totals() {
		if k.verb == watchVerb {
			all[resource{k.group, k.resource}] += t.open
		}
	}
	return all
}

func (d *difference) sent(of resource) float64 {
	before, after := d.before.sent[of], d.after.sent[of]
	if after < before { // kube-apiserver has restarted
		return after
	}
	return after - before
}

// writes returns the successful writes of each resource.
func (d *difference) writes() map[resource]*changes {
	all := map[resource]*changes{}
	for k, t := range d.totals() {
		switch k.verb {
		case getVerb, listVerb, watchVerb, "connect":
			continue
		}
		of := resource{k.group, k.resource}
		if all[of] == nil {
			all[of] = &changes{}
		}
		all[of].count += int(t.requests - t.failed)
	}
	return all
}
