package handlers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"go.uber.org/zap"
)

// Check is one condition of health.
type Check struct {
	Name string
	// Probes are those that it belongs to, of healthz, livez and readyz.
	Probes []string
	// Healthy returns why not; the reason is logged, and never shown.
	Healthy func() error
}

// health answers a probe in kube-apiserver's form (semantics 8.3): "ok", or with ?verbose or on failure a line a check.
func (s *Server) health(probe string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		only := chi.URLParam(r, "check")
		if only == "" {
			w.Header().Set("X-Content-Type-Options", "nosniff") // kube-apiserver leaves it out for a single check that holds
		}
		checks, err := s.checks(probe, only, r.URL.Query()["exclude"])
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		lines, healthy := s.run(probe, checks)
		if only != "" && !healthy {
			http.Error(w, "internal server error: reason withheld", http.StatusInternalServerError)
			return
		}
		_, verbose := r.URL.Query()["verbose"]
		switch {
		case !healthy:
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprintf(w, "%s%s check failed\n", lines, probe)
		case verbose:
			_, _ = fmt.Fprintf(w, "%s%s check passed\n", lines, probe)
		default:
			_, _ = fmt.Fprint(w, "ok")
		}
	}
}

// checks selects the checks of a probe, or the one that is named.
func (s *Server) checks(probe, only string, excluded []string) ([]Check, error) {
	var chosen []Check
	for _, check := range s.Checks {
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
		if err := check.Healthy(); err != nil {
			healthy = false
			s.log.Info("health check failed", zap.String("probe", probe), zap.String("check", check.Name), zap.Error(err))
			fmt.Fprintf(&b, "[-]%s failed: reason withheld\n", check.Name)
			continue
		}
		fmt.Fprintf(&b, "[+]%s ok\n", check.Name)
	}
	return b.String(), healthy
}
