package assess

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/price"
)

type model struct {
	sizes  sizes
	length time.Duration
	writes map[resource]*changes
	// counted reports whether the events of watches are known (use.sent), instead of estimated from the writes.
	counted bool
}

// figures are the costs of one use or of several uses. CPU is in seconds.
type figures struct {
	requests, served int
	lists            int
	listBytes        float64      // bytes of the bodies of lists, before compression
	watchTime        float64      // seconds for which watches were open
	events           price.Bounds // sent to watches
	cpu              price.Bounds // of kube-apiserver
	saved            price.Bounds // part of cpu that a facade makes unnecessary; its own watches are not subtracted
	facade           price.Bounds // of the facade
	checks           int          // served requests that need a freshness check
}

func (f *figures) plus(other *figures) {
	f.requests, f.served = f.requests+other.requests, f.served+other.served
	f.lists, f.checks = f.lists+other.lists, f.checks+other.checks
	f.listBytes += other.listBytes
	f.watchTime += other.watchTime
	f.events, f.cpu = f.events.Plus(other.events), f.cpu.Plus(other.cpu)
	f.saved, f.facade = f.saved.Plus(other.saved), f.facade.Plus(other.facade)
}

// machine is the factor by which the CPU of other machines and objects may differ from docs/benchmarks.md.
const machine = 1.3

// spread is the factor by which the facade's own CPU for a request varies. For example, an idle facade has costs per
// request that concurrent requests share on a busy facade.
const spread = 3

// small is the price of a request without much content. The price falls as the number of concurrent requests grows.
var small = price.Bounds{Low: 500e-6, Estimate: price.Request, High: 1.9e-3}

func (m *model) figures(u *use, v verdict) figures {
	f := figures{requests: u.requests}
	switch {
	case u.verb == listVerb && u.resource != Others:
		m.list(u, &f)
	case u.verb == watchVerb:
		m.watch(u, &f)
	case u.verb == getVerb || v.why == becauseReview || v.why == becauseConnection:
		f.cpu = small.Times(float64(u.requests))
		f.facade = price.Around(price.FacadeRequest, spread).Times(float64(u.requests))
	default:
		f.cpu = m.write(u)
	}
	if u.found > 0 { // the share of this user is a sample
		off := 1 / math.Sqrt(u.found)
		f.cpu.Low, f.cpu.High = f.cpu.Low*max(1-off, 0), f.cpu.High*(1+off)
	}
	if !v.served {
		f.facade = price.Bounds{}
		if !v.refused(u) && u.resource != Others {
			f.facade = price.Around(price.FacadeForward, spread).Times(float64(u.requests))
		}
		return f
	}
	f.served, f.saved = u.requests, f.cpu.Minus(m.remaining(u, &f))
	f.saved.Low = max(f.saved.Low, -0.2*f.cpu.Low) // a loss is small, because the facade forwards cheap reads
	f.saved.Estimate = max(f.saved.Estimate, 0)
	return f
}

// remaining returns the cost at kube-apiserver that a facade causes for these requests: freshness checks of consistent
// reads, and reviews. Readers that wait at the same time share a check, and a decision lasts ten seconds.
func (m *model) remaining(u *use, f *figures) price.Bounds {
	var rest price.Bounds
	n := float64(u.requests - u.failed)
	if n > 0 && u.mode == consistent && u.verb != watchVerb && !strings.HasPrefix(u.resource, "/") {
		f.checks = u.requests - u.failed
		most := min(price.Probe, f.cpu.Estimate/n) // a read that costs less than a probe is forwarded
		rest = price.Bounds{Estimate: n * most / 2, High: n * most}
	}
	const lasts = 10 * time.Second
	reviews := min(float64(u.requests), float64(m.length/lasts)+1)
	return rest.Plus(price.Bounds{Estimate: price.Review * reviews / 2, High: 2 * price.Review * reviews})
}

func (m *model) write(u *use) price.Bounds {
	bytes := usualBytes(u.group, u.resource)
	if known, ok := m.sizes.of(u.group, u.resource); ok && known.objects > 0 {
		bytes = known.bytes / known.objects
	}
	one := price.Bounds{Low: price.Write / machine, Estimate: price.Write + price.WrittenByte*bytes/2,
		High: machine * (price.Write + price.WrittenByte*bytes)}
	return one.Times(float64(u.requests - u.failed)).Plus(small.Times(float64(u.failed)))
}

// protobufPrograms are programs that read built-in kinds in protobuf, or the beginnings of their names.
var protobufPrograms = []string{
	"kubelet", "kube-", "cloud-controller-manager", "cluster-autoscaler", "coredns", "CoreDNS", "cilium", "Prometheus",
	"prometheus", "karpenter",
}

// encodingOf returns the encoding that a client probably requests. The audit log does not contain it.
func encodingOf(u *use) price.Encoding {
	switch {
	case u.Program == "kubectl":
		return price.Table
	case !builtIn(u.group):
		return price.JSON
	case slices.ContainsFunc(protobufPrograms, func(p string) bool { return strings.HasPrefix(u.Program, p) }):
		return price.Protobuf
	}
	return price.JSON
}

// builtIn reports whether a group probably belongs to kube-apiserver. Custom resources have no protobuf.
func builtIn(group string) bool {
	switch group {
	case "gateway.networking.k8s.io", "snapshot.storage.k8s.io", "metrics.k8s.io":
		return false
	}
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}
