package assess

import (
	"github.com/listfacade/listfacade/internal/price"
)

// The duration of a list bounds its CPU: one goroutine encodes; others write the response and collect garbage.
const (
	atMostWorked = 1.5  // maximum CPU of a list, as a multiple of its duration
	likelyWorked = 0.85 // probable CPU of a list whose size is unknown, as a multiple of its duration
)

// page estimates the largest response of one list.
func (m *model) page(u *use) (whole price.List, known bool) {
	all, known := m.sizes.of(u.group, u.resource)
	whole = price.List{Objects: all.objects, Bytes: all.bytes, Encoding: encodingOf(u), Compressed: true}
	share := 1.0
	if u.limit > 0 && all.objects > float64(u.limit) {
		share = float64(u.limit) / all.objects
	}
	if u.selects == selectsName || u.scope == oneObject {
		share = 1 / max(all.objects, 1)
	}
	whole.Objects, whole.Bytes = whole.Objects*share, whole.Bytes*share
	return whole, known
}

// list adds the costs of lists. The duration of the lists limits the estimate.
func (m *model) list(u *use, f *figures) {
	n := u.requests - u.failed
	f.lists = n
	took := u.took.Seconds()
	whole, known := m.page(u)
	certain := known && (u.scope == everything && u.selects == selectsAll || whole.Objects <= 1)
	cpu := bounds(whole)
	if all, _ := m.sizes.of(u.group, u.resource); all.guessed {
		const off = 4 // factor by which a guess may be wrong
		less, more := whole, whole
		less.Bytes, more.Bytes = whole.Bytes/off, whole.Bytes*off
		cpu.Low, cpu.High = bounds(less).Low, bounds(more).High
	}
	cpu = cpu.Times(float64(n))
	least := small.Times(float64(n))
	switch {
	case !known:
		cpu = price.Bounds{
			Low: least.Low, Estimate: max(likelyWorked*took, least.Low), High: max(atMostWorked*took, least.High),
		}
	case !certain:
		cpu.Low = least.Low
		cpu.High = max(cpu.High, least.High)
		cpu.Estimate = min(max(min(likelyWorked*took, m.likely(u, whole)*float64(n)), least.Low), cpu.High)
	}
	cpu.High = max(min(cpu.High, atMostWorked*took), least.Low)
	cpu.Estimate = min(cpu.Estimate, cpu.High)
	cpu.Low = min(cpu.Low, cpu.Estimate)
	f.cpu = cpu.Plus(small.Times(float64(u.failed)))
	share := 1.0
	if mostly := whole.CPU() * float64(n); !certain && mostly > 0 {
		share = min(max(cpu.Estimate-least.Low, 0)/mostly, 1)
	}
	f.listBytes = share * float64(n) * whole.Bytes * price.SentBytes[whole.Encoding]
	part := whole
	part.Objects, part.Bytes = part.Objects*share, part.Bytes*share
	f.facade = price.Around(part.FacadeCPU(), spread).Times(float64(n))
}

// likely returns the probable maximum price of a list of unknown size. A list of one node's objects has at most twice
// the average of all nodes. Any other list may have all objects.
func (m *model) likely(u *use, whole price.List) float64 {
	if nodes, _ := m.sizes.of("", "nodes"); nodes.objects > 1 && u.selects == selectsNode {
		const uneven = 2 // some nodes have more objects than others
		whole.Objects, whole.Bytes = uneven*whole.Objects/nodes.objects, uneven*whole.Bytes/nodes.objects
	}
	return whole.CPU()
}

// bounds returns the price of a list whose encoding and compression are not known.
func bounds(l price.List) price.Bounds {
	cheap, costly := l, l
	cheap.Encoding, cheap.Compressed = price.Protobuf, false
	costly.Encoding, costly.Compressed = price.JSON, true
	if l.Encoding == price.Table {
		cheap.Encoding = price.Metadata
	}
	return price.Bounds{Low: min(cheap.CPU(), l.CPU()) / machine, Estimate: l.CPU(), High: costly.CPU() * machine}
}
