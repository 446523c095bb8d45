package assess

import (
	"cmp"
	"slices"
	"time"

	"github.com/listfacade/listfacade/internal/assess/auditlog"
	"github.com/listfacade/listfacade/internal/price"
)

// Report contains the costs of the clients at a kube-apiserver, and the part that a facade would take over. CPU is in
// seconds, for the complete period.
type Report struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Log counts the lines that were read; null if there was no audit log.
	Log      *auditlog.Counts `json:"log,omitempty"`
	Requests int              `json:"requests"` // that ended in the period
	// Served is the number of requests that a facade would answer. Checked is the number of served requests that need a
	// freshness check at kube-apiserver. Readers that wait at the same time share a check.
	Served  int `json:"served"`
	Checked int `json:"checked"`
	// CPU is kube-apiserver's CPU for the requests. Saved is the part that a facade makes unnecessary, minus Own, the
	// cost of the facade's watches. Facade is the facade's CPU. Start is kube-apiserver's CPU when a facade starts.
	CPU    price.Bounds `json:"cpuSeconds"`
	Saved  price.Bounds `json:"savedCPUSeconds"`
	Own    price.Bounds `json:"ownCPUSeconds"`
	Facade price.Bounds `json:"facadeCPUSeconds"`
	Start  price.Bounds `json:"startCPUSeconds"`
	// Clients are sorted by CPU, the costliest first.
	Clients []Row    `json:"clients"`
	Left    int      `json:"leftOut"` // clients that are not listed
	Notes   []string `json:"notes"`
}

// Row contains the costs of one client.
type Row struct {
	Client
	Requests  int          `json:"requests"`
	Served    int          `json:"served"`
	Lists     int          `json:"lists"`
	ListBytes float64      `json:"listBytes"` // before compression
	Watches   float64      `json:"watches"`   // average number of open watches
	Events    price.Bounds `json:"events"`
	CPU       price.Bounds `json:"cpuSeconds"`
	Saved     price.Bounds `json:"savedCPUSeconds"`
	Facade    price.Bounds `json:"facadeCPUSeconds"`
	Move      Move         `json:"move"`
	WhyNot    []Why        `json:"whyNot,omitempty"` // most requests first
	serves    bool         // the facade serves at least one use
}

// Move says whether a client can use a facade.
type Move string

// The values of Move.
const (
	Moves Move = "yes"   // the facade serves or forwards all requests of the client
	Reads Move = "reads" // the facade serves some requests, but refuses others, which must go to kube-apiserver
	Stays Move = "no"    // the facade serves nothing
)

// Why is a reason for which a facade does not serve requests.
type Why struct {
	Reason   string `json:"reason"`
	Requests int    `json:"requests"`
	// Refused reports whether the facade refuses these requests. Otherwise it forwards them, and they cost
	// kube-apiserver as much as without a facade.
	Refused bool `json:"refused"`
}

func (m *model) report(uses []*use, most int) *Report {
	r := &Report{}
	rows := map[Client]*Row{}
	for _, u := range uses {
		v := judge(u, m.sizes)
		f := m.figures(u, v)
		row := rows[u.Client]
		if row == nil {
			row = &Row{Client: u.Client}
			rows[u.Client] = row
		}
		row.add(&f, m.length)
		row.serves = row.serves || v.served
		if !v.served && f.requests > 0 {
			row.refuse(v, u)
		}
		r.Requests, r.Served, r.Checked = r.Requests+f.requests, r.Served+f.served, r.Checked+f.checks
		r.CPU, r.Saved, r.Facade = r.CPU.Plus(f.cpu), r.Saved.Plus(f.saved), r.Facade.Plus(f.facade)
	}
	r.Own, r.Start = m.own(uses)
	r.Saved = r.Saved.Minus(r.Own)
	for _, row := range rows {
		row.judge()
		r.Clients = append(r.Clients, *row)
	}
	slices.SortFunc(r.Clients, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.CPU.Estimate, a.CPU.Estimate), cmp.Compare(a.User, b.User),
			cmp.Compare(a.Program, b.Program))
	})
	if most > 0 && len(r.Clients) > most {
		r.leaveOut(most, m.length)
	}
	return r
}

func (r *Row) add(f *figures, length time.Duration) {
	r.Requests, r.Served, r.Lists = r.Requests+f.requests, r.Served+f.served, r.Lists+f.lists
	r.ListBytes += f.listBytes
	if length > 0 {
		r.Watches += f.watchTime / length.Seconds()
	}
	r.Events, r.CPU = r.Events.Plus(f.events), r.CPU.Plus(f.cpu)
	r.Saved, r.Facade = r.Saved.Plus(f.saved), r.Facade.Plus(f.facade)
}

func (r *Row) refuse(v verdict, u *use) {
	why := Why{Reason: v.why, Refused: v.refused(u)}
	at := slices.IndexFunc(r.WhyNot, func(w Why) bool { return w.Reason == why.Reason && w.Refused == why.Refused })
	if at < 0 {
		at = len(r.WhyNot)
		r.WhyNot = append(r.WhyNot, why)
	}
	r.WhyNot[at].Requests += u.requests
}

// judge sets Move, and sorts the reasons.
func (r *Row) judge() {
	slices.SortFunc(r.WhyNot, func(a, b Why) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Reason, b.Reason))
	})
	refused := slices.ContainsFunc(r.WhyNot, func(w Why) bool { return w.Refused })
	switch {
	case !r.serves:
		r.Move = Stays
	case refused:
		r.Move = Reads
	default:
		r.Move = Moves
	}
}

// leaveOut replaces the cheapest clients by one row.
func (r *Report) leaveOut(most int, length time.Duration) {
	sum := Row{Client: Client{User: Others}}
	for _, row := range r.Clients[most:] {
		sum.add(&figures{requests: row.Requests, served: row.Served, lists: row.Lists, listBytes: row.ListBytes,
			watchTime: row.Watches * length.Seconds(), events: row.Events, cpu: row.CPU, saved: row.Saved, facade: row.Facade},
			length)
	}
	r.Left = len(r.Clients) - most
	r.Clients = append(r.Clients[:most:most], sum)
}
