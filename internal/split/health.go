package split

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/listfacade/listfacade/internal/metrics"
)

func (s *Split) servers() []*server {
	return slices.Insert(slices.Clone(s.facades.all), 0, s.apiServer)
}

// health answers the proxy's own probes in kube-apiserver's format. The process is live while it answers. It is ready
// if all targets have been checked, at least one is ready, and no shutdown has begun. Without facades it still forwards
// writes, and without kube-apiserver it still forwards reads.
func (s *Split) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	probe := strings.TrimPrefix(r.URL.Path, "/")
	lines, ready := s.readiness()
	switch {
	case probe == "readyz" && !ready:
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(w, "%s%s check failed\n", lines, probe)
	case r.URL.Query().Has("verbose"):
		_, _ = fmt.Fprintf(w, "%s%s check passed\n", lines, probe)
	default:
		_, _ = fmt.Fprint(w, "ok")
	}
}

// readiness returns a line for each target and the shutdown, and whether the proxy is ready. No line contains an
// address, because any client may read the lines.
func (s *Split) readiness() (lines string, ready bool) {
	var b strings.Builder
	checked := true
	for i, target := range s.servers() {
		name, up := string(target.kind), target.ready.Load()
		if target.kind == Facade {
			name = fmt.Sprintf("%s-%d", name, i)
		}
		line(&b, name, up)
		ready, checked = ready || up, checked && isClosed(target.checked)
	}
	running := s.shutdown.begun.Err() == nil
	line(&b, "shutdown", running)
	return b.String(), ready && checked && running
}

func line(b *strings.Builder, name string, ok bool) {
	if ok {
		fmt.Fprintf(b, "[+]%s ok\n", name)
		return
	}
	fmt.Fprintf(b, "[-]%s failed: reason withheld\n", name)
}

func (s *Split) targets() []metrics.SplitTarget {
	var all []metrics.SplitTarget
	for _, target := range s.servers() {
		all = append(all, metrics.SplitTarget{
			Target: string(target.kind), Host: target.base.Host, Ready: target.ready.Load(),
		})
	}
	return all
}

func (s *Split) certificates() []metrics.Certificate {
	return []metrics.Certificate{{Name: "serving", NotAfter: s.pair.NotAfter()}}
}
