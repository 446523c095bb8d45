package assess

import (
	"github.com/listfacade/listfacade/internal/price"
)

// watch adds the costs of watches: of opening them, of the objects with which they begin, and of their events.
func (m *model) watch(u *use, f *figures) {
	opened := float64(max(u.requests, u.watches.started) - u.failed)
	f.cpu = price.Around(price.Open, 1.5).Times(opened).Plus(small.Times(float64(u.failed)))
	f.facade = price.Around(price.FacadeOpen, spread).Times(opened)
	f.watchTime = u.watches.open(m.length).Seconds()
	whole, known := m.page(u)
	if u.initial && known {
		begins := bounds(whole)
		if u.scope != everything || u.selects != selectsAll {
			begins.Low, begins.Estimate = 0, begins.Estimate*m.selected(u).Estimate
		}
		f.cpu = f.cpu.Plus(begins.Times(opened))
		f.facade = f.facade.Plus(price.Around(whole.FacadeCPU(), spread).Times(opened * m.selected(u).Estimate))
	}
	all, _ := m.sizes.of(u.group, u.resource)
	bytes := usualBytes(u.group, u.resource)
	if all.objects > 0 {
		bytes = all.bytes / all.objects
	}
	part, rate := m.selected(u), m.rate(u.group, u.resource)
	f.events = price.Bounds{
		Low: part.Low * rate.Low, Estimate: part.Estimate * rate.Estimate, High: part.High * rate.High,
	}.Times(f.watchTime)
	if m.counted {
		f.events = price.Exactly(u.sent)
	}
	f.cpu = f.cpu.Plus(priced(f.events, price.Event(bytes)))
	f.facade = f.facade.Plus(priced(f.events, price.FacadeEvent))
}

func priced(events price.Bounds, each float64) price.Bounds {
	return price.Bounds{Low: events.Low * each / 1.5, Estimate: events.Estimate * each, High: events.High * each * 2}
}

// rate returns the number of events of a resource per second. The result is a range, because some writes change
// nothing, and a log may omit writes.
func (m *model) rate(group, name string) price.Bounds {
	written := m.writes[resource{group, name}]
	if written == nil || m.length <= 0 {
		return price.Bounds{}
	}
	each := float64(written.count) / m.length.Seconds()
	return price.Bounds{Low: 0.7 * each, Estimate: each, High: 1.2 * each}
}

// selected returns the share of the objects of a resource that a use selects.
func (m *model) selected(u *use) price.Bounds {
	all, _ := m.sizes.of(u.group, u.resource)
	machines, _ := m.sizes.of("", "nodes")
	objects, nodes := max(all.objects, 1), max(machines.objects, 1)
	some := func(share float64) price.Bounds { return price.Bounds{Low: 0, Estimate: share, High: 1} }
	const labelled = 0.1 // guessed share of the objects with the selected labels
	switch {
	case u.selects == selectsName || u.scope == oneObject:
		return some(1 / objects)
	case u.selects == selectsNode:
		return price.Bounds{Low: 0.5 / nodes, Estimate: 1 / nodes, High: min(3/nodes, 1)}
	case u.scope == oneNamespace:
		namespaces := 10.0
		if written := m.writes[resource{u.group, u.resource}]; written != nil {
			namespaces = max(float64(len(written.namespaces)), 1)
		}
		if u.selects == selectsSome {
			namespaces /= labelled
		}
		return some(1 / namespaces)
	case u.selects == selectsSome:
		return some(labelled)
	}
	return price.Exactly(1)
}

// own returns the cost of the facade's own watches at kube-apiserver: one for each resource and encoding that clients
// read from the facade. The result start is the cost of the facade's lists when it starts.
func (m *model) own(uses []*use) (watches, start price.Bounds) {
	seen := map[resource]bool{}
	for _, u := range uses {
		of := resource{u.group, u.resource}
		if seen[of] || u.resource[0] == '/' || !judge(u, m.sizes).served {
			continue
		}
		seen[of] = true
		all, _ := m.sizes.of(u.group, u.resource)
		event := price.Event(usualBytes(u.group, u.resource))
		if all.objects > 0 {
			event = price.Event(all.bytes / all.objects)
		}
		once := priced(m.rate(u.group, u.resource).Times(m.length.Seconds()), event)
		once.High *= 2 // clients may read both encodings
		watches = watches.Plus(once)
		filled := bounds(price.List{Objects: all.objects, Bytes: all.bytes, Encoding: price.JSON, Compressed: true})
		filled.High *= 2
		start = start.Plus(filled)
	}
	return watches, start
}
