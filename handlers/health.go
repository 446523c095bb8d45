package handlers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.uber.org/zap"
)

// Check is a health check.
type Check struct {
	Name string
	// Probes are the probes that include the check: healthz, livez, readyz.
	Probes []string
	// Healthy returns the reason why the check fails, or nil. The reason is logged, but no response contains it.
	Healthy func() error
	// Progress describes in a few words how far the check is from passing; nil if that is not known. Any client may read
	// the text.
	Progress func() string
}

// health serves a probe in kube-apiserver's format (semantics 8.3): "ok", or with ?verbose or on failure a line for
// each check. A path below the probe's path selects a single check.
func (s *Server) health(probe string) func(out *reply, q *Request) error {
	return func(out *reply, q *Request) error {
		header := out.header()
		header.Set("Content-Type", "text/plain; charset=utf-8")
		only := strings.TrimPrefix(strings.TrimPrefix(q.url.Path, "/"+probe), "/")
		if only == "" {
			header.Set("X-Content-Type-Options", "nosniff") // kube-apiserver omits it for a single check that passes
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

func (s *Server) chosen(probe, only string, excluded []string) ([]Check, error) {
	var chosen []Check
	for _, check := range s.checks {
		if slices.Contains(check.Probes, probe) && (only == "" || check.Name == only) &&
			!slices.Contains(excluded, check.Name) {
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
		s.counters.Checked(check.Name, probe, err)
		if err != nil {
			healthy = false
			s.log.Info("Health check failed", zap.String("probe", probe), zap.String("check", check.Name), zap.Error(err))
			fmt.Fprintf(&b, "[-]%s failed: reason withheld%s\n", check.Name, check.progress())
			continue
		}
		fmt.Fprintf(&b, "[+]%s ok\n", check.Name)
	}
	return b.String(), healthy
}

// progress returns the facade's addition to kube-apiserver's text for a failed check.
func (c Check) progress() string {
	if c.Progress == nil {
		return ""
	}
	if text := c.Progress(); text != "" {
		return " (" + text + ")"
	}
	return ""
}
