package handlers

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/reflector"
)

// Check is one condition of health.
type Check struct {
	Name string
	// Probes are those that it belongs to, of healthz, livez and readyz.
	Probes []string
	// Healthy returns why not; the reason is logged, and never shown.
	Healthy func() error
	// Progress says in a few words, to whoever may connect, how far what the check waits for is; nil when it cannot.
	Progress func() string
}

// health answers a probe in kube-apiserver's form (semantics 8.3): "ok", or with ?verbose or on failure a line a check.
// A path below the probe's names a single check.
func (s *Server) health(probe string) answer {
	return func(_ context.Context, out *reply, q *Request, _ *reflector.Reflector) error {
		header := out.header()
		header.Set("Content-Type", "text/plain; charset=utf-8")
		only := strings.TrimPrefix(strings.TrimPrefix(q.url.Path, "/"+probe), "/")
		if only == "" {
			header.Set("X-Content-Type-Options", "nosniff") // kube-apiserver leaves it out for a single check that holds
		}
		checks, err := s.chosen(probe, only, q.query["exclude"])
		if err != nil {
			http.Error(out.w, err.Error(), http.StatusNotFound)
			return nil
		}
		lines, healthy := s.run(probe, checks)
		if only != "" && !healthy {
			http.Error(out.w, "internal server error: reason withheld", http.StatusInternalServerError)
			return nil
		}
		switch {
		case !healthy:
			out.w.WriteHeader(http.StatusInternalServerError)
			_, err = fmt.Fprintf(out.w, "%s%s check failed\n", lines, probe)
		case q.query.Has("verbose"):
			_, err = fmt.Fprintf(out.w, "%s%s check passed\n", lines, probe)
		default:
			_, err = fmt.Fprint(out.w, "ok")
		}
		return err
	}
}

// chosen selects the checks of a probe, or the one that is named.
func (s *Server) chosen(probe, only string, excluded []string) ([]Check, error) {
	var chosen []Check
	for _, check := range s.checks {
		if slices.Contains(check.Probes, probe) && (only == "" || check.Name == only) && !slices.Contains(excluded, check.Name) {
			chosen = append(chosen, check)
		}
	}
	if only != "" && len(chosen) == 0 {
		return nil, fmt.Errorf("404 page not found")
	}
	return chosen, nil
}

func (s *Server) run(probe string, checks []Check) (lines string, healthy bool) {
	var b strings.Builder
	healthy = true
	for _, check := range checks {
		err := check.Healthy()
		s.live.Checked(check.Name, probe, err)
		if err != nil {
			healthy = false
			s.log.Info("health check failed", zap.String("probe", probe), zap.String("check", check.Name), zap.Error(err))
			fmt.Fprintf(&b, "[-]%s failed: reason withheld%s\n", check.Name, check.progress())
			continue
		}
		fmt.Fprintf(&b, "[+]%s ok\n", check.Name)
	}
	return b.String(), healthy
}

// progress stands behind what kube-apiserver says of a check that fails.
func (c Check) progress() string {
	if c.Progress == nil {
		return ""
	}
	if said := c.Progress(); said != "" {
		return " (" + said + ")"
	}
	return ""
}
