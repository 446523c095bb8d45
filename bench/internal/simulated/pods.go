package simulated

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/listfacade/listfacade/bench/internal/dataset"
)

// The distribution of pods.
const (
	perNamespace = 400
	perNode      = 100
	applications = 6 // per namespace
	spread       = 20 * 24 * time.Hour
)

// firstVersion is the resourceVersion of the first pod. The version of each next pod is higher by one.
const firstVersion = 1_000_000

// typeMeta is the beginning of a pod outside a list.
const typeMeta = `{"kind":"Pod","apiVersion":"v1",`

// Pods is a set of pods, numbered from 0 in list order. It is immutable and safe for concurrent use.
type Pods struct {
	count      int
	nodes      []string
	templates  []*template    // the templates of a namespace are consecutive
	namespaces map[string]int // number of the first pod, by namespace
}

// NewPods prepares a number of pods, at least 1000, on a number of nodes. If nodes is 0, there is one node for 100
// pods. NewPods takes one millisecond for every 100 pods.
func NewPods(count, nodes int) (*Pods, error) {
	namespaces := (count + perNamespace - 1) / perNamespace
	if nodes == 0 {
		nodes = (count + perNode - 1) / perNode
	}
	spec := dataset.Spec{Pods: count, Namespaces: namespaces, Nodes: nodes, Applications: applications * namespaces,
		Seed: 1}
	templates, err := templatesOf(spec)
	if err != nil {
		return nil, err
	}
	p := &Pods{count: count, templates: templates, namespaces: map[string]int{}}
	for i := 0; i < count; i += perNamespace {
		p.namespaces[p.template(i).namespace] = i
	}
	for i := range spec.Nodes {
		p.nodes = append(p.nodes, spec.Node(i))
	}
	return p, nil
}

// Len returns the number of pods.
func (p *Pods) Len() int { return p.count }

// Name returns the namespace and the name of a pod.
func (p *Pods) Name(i int) (namespace, name string) {
	t := p.template(i)
	return t.namespace, t.prefix + string(appendSuffix(nil, i))
}

// named returns the number of the pod with a namespace and a name, and whether it exists.
func (p *Pods) named(namespace, name string) (int, bool) {
	first, ok := p.namespaces[namespace]
	for i := first; ok && i < min(first+perNamespace, p.count); i++ {
		if _, other := p.Name(i); other == name {
			return i, true
		}
	}
	return 0, false
}

// Node returns the name of a pod's node. Neighbours in a list run on different nodes.
func (p *Pods) Node(i int) string { return p.nodes[i%len(p.nodes)] }

func (p *Pods) template(i int) *template {
	within := i % perNamespace
	return p.templates[i/perNamespace*applications+within*applications/perNamespace]
}

// state is the changing part of a pod.
type state struct {
	version uint64
	stamp   int64
}

// appendPod appends the JSON of a pod as in a list, without kind and apiVersion.
func (p *Pods) appendPod(b []byte, i int, s state) []byte {
	f := &p.template(i).json
	seed := mix(uint64(i))
	b = append(b, '{')
	for _, piece := range f.pieces {
		b = append(b, piece.text...)
		b = p.appendPart(b, i, seed, piece.hole, s)
	}
	return append(b, f.tail...)
}

// appendWhole appends the JSON of a pod outside a list.
func (p *Pods) appendWhole(b []byte, i int, s state) []byte {
	b = append(b, typeMeta...)
	at := len(b) - 1 // the comma of typeMeta, which replaces the opening bracket of the pod
	b = p.appendPod(b[:at], i, s)
	b[at] = ','
	return b
}

func (p *Pods) appendPart(b []byte, i int, seed uint64, h hole, s state) []byte {
	switch h.part {
	case partName:
		return appendSuffix(append(b, p.template(i).prefix...), i)
	case partUID:
		high, low := mix(seed+1), mix(seed+2)
		b = append(appendHex(b, high>>32, 8), '-')
		b = append(appendHex(b, high>>16, 4), "-4"...)
		b = append(appendHex(b, high, 3), "-9"...)
		b = append(appendHex(b, low>>48, 3), '-')
		return appendHex(b, low, 12)
	case partVersion:
		return strconv.AppendUint(b, s.version, 10)
	case partStamp:
		return strconv.AppendInt(b, s.stamp, 10)
	case partNode:
		return append(b, p.Node(i)...)
	case partIP:
		return appendAddress(append(b, "10."...), i)
	case partHostIP:
		node := i % len(p.nodes)
		return fmt.Appendf(b, "172.%d.%d.%d", 16+node>>16, node>>8&255, node&255)
	case partVolume:
		return appendLetters(b, mix(seed+3)%suffixes)
	case partLink:
		return appendHex(b, mix(seed+4), 8)
	case partContainer:
		for n := range uint64(4) {
			b = appendHex(b, mix(seed+16*uint64(h.number+1)+n), 16)
		}
		return b
	case partTime:
		return time.Unix(h.moment-earlier(i), 0).UTC().AppendFormat(b, time.RFC3339)
	case partSeconds:
		return protowire.AppendVarint(b, uint64(h.moment-earlier(i))) //nolint:gosec // after 1970
	case partBegin, partEnd: // these parts have no text
	}
	return b
}

// appendRow appends the beginning of a pod's row up to its object. Ages are relative to now.
func (p *Pods) appendRow(b []byte, i int, now time.Time) []byte {
	t := p.template(i)
	age := func(moment int64) string { return duration.HumanDuration(now.Sub(time.Unix(moment-earlier(i), 0))) }
	restarts := strconv.Itoa(int(t.restarts))
	if t.restarts > 0 {
		restarts += " (" + age(t.restarted) + " ago)"
	}
	b = append(append(append(b, `{"cells":["`...), t.prefix...), appendSuffix(nil, i)...)
	b = fmt.Appendf(b, `","2/2","Running","%s","%s","`, restarts, age(t.created))
	b = appendAddress(append(b, "10."...), i)
	return fmt.Appendf(b, `","%s","\u003cnone\u003e","\u003cnone\u003e"],"object":`, p.Node(i))
}

// earlier returns how many seconds a pod is older than the pod of its template.
func earlier(i int) int64 { return int64(mix(uint64(i)+7) % uint64(spread/time.Second)) }

// letters are the characters of generated names, in ascending order.
const letters = "2456789bcdfghjklmnpqrstvwxz"

const suffixes = 27 * 27 * 27 * 27 * 27

// appendSuffix appends the suffix of a pod's name. The suffixes of one application are in the order of its pods.
func appendSuffix(b []byte, i int) []byte {
	const step = suffixes / perNamespace
	return appendLetters(b, uint64(i%perNamespace)*step+mix(uint64(i)+5)%step)
}

func appendLetters(b []byte, n uint64) []byte {
	var text [5]byte
	for at := len(text) - 1; at >= 0; at-- {
		text[at], n = letters[n%27], n/27
	}
	return append(b, text[:]...)
}

// appendAddress appends the last three numbers of a pod's IPv4 address.
func appendAddress(b []byte, i int) []byte {
	b = append(strconv.AppendInt(b, int64(64+i>>16), 10), '.')
	b = append(strconv.AppendInt(b, int64(i>>8&255), 10), '.')
	return strconv.AppendInt(b, int64(i&255), 10)
}

// appendHex appends the last hexadecimal digits of a number; digits is how many, at most 16.
func appendHex(b []byte, n uint64, digits int) []byte {
	var raw [8]byte
	for at := range raw {
		raw[at] = byte(n >> (56 - 8*at))
	}
	var text [16]byte
	hex.Encode(text[:], raw[:])
	return append(b, text[16-digits:]...)
}

// mix is a hash of a number, the finalizer of splitmix64. Neighbouring numbers have very different hashes.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
