package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// screenshots is the environment variable with a directory for screenshots. Without it, none are kept.
const screenshots = "LISTFACADE_SCREENSHOTS"

// keep writes a screenshot if they are enabled.
func (p *tab) keep(name string) {
	p.t.Helper()
	if dir := os.Getenv(screenshots); dir != "" {
		if err := os.WriteFile(dir+"/"+name+".png", p.shot(), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}

// The page is complete on every screen, without errors in the console, and never scrolls horizontally.
func TestPageIsCompleteOnEveryScreen(t *testing.T) {
	b := newBrowser(t)
	s := newScene(t)
	s.busy(t)
	for name, how := range map[string]look{
		"light": desktop, "dark": {1440, 1000, "dark", false}, "phone": {390, 844, "light", false}, "phone-dark": {390, 844, "dark", false},
		"narrow": {320, 640, "light", false}, "without-script": {1440, 1000, "light", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := b.open(t, s.page(), how)
			p.eventually("no problems are shown", func() error { // kube-apiserver may be slow for a moment
				if verdict := p.text("#verdict"); !strings.Contains(verdict, "No problems") {
					return fmt.Errorf("got %q:\n%s", verdict, p.text("#problems"))
				}
				return nil
			})
			if names := p.column("lanes", 1); !slices.Equal(names, []string{"configmaps", "namespaces"}) {
				t.Errorf("lanes: %q", names)
			}
			if agents := p.column("clients", 4); !slices.Contains(agents, "my-controller/v0.3.1") {
				t.Errorf("clients: %q", agents)
			}
			if open := p.column("watches", 6); len(open) != 3 {
				t.Errorf("watches: %q", open)
			}
			if wide := value[int](p, "document.documentElement.scrollWidth"); wide > int(how.width) {
				t.Errorf("got a page %d wide, want at most %d", wide, how.width)
			}
			background := value[string](p, "getComputedStyle(document.body).backgroundColor")
			if isDark := strings.HasPrefix(background, "rgb(19,"); isDark != (how.scheme == "dark") {
				t.Errorf("got background %s", background)
			}
			if unnamed := value[int](p, "document.querySelectorAll('th:not([scope]), table:not(:has(caption)), svg:not([aria-label]):not([aria-labelledby])').length"); unnamed != 0 {
				t.Errorf("got %d elements without a text for screen readers", unnamed)
			}
			p.quiet()
		})
	}
}

// A click on a column's head sorts its table, and no other.
func TestPageSorts(t *testing.T) {
	settings.Long(t)
	b := newBrowser(t)
	s := newScene(t)
	s.busy(t)
	p := b.open(t, s.page(), desktop)
	p.follow("#lanes th:nth-child(4) a") // objects
	if names := p.column("lanes", 1); !slices.Equal(names, []string{"configmaps", "namespaces"}) {
		t.Errorf("by objects: %q", names)
	}
	p.follow("#lanes th:nth-child(4) a")
	if names := p.column("lanes", 1); !slices.Equal(names, []string{"namespaces", "configmaps"}) {
		t.Errorf("by objects, reversed: %q", names)
	}
	if sorted := value[string](p, "document.querySelector('#lanes th:nth-child(4)').ariaSort"); sorted != "ascending" {
		t.Errorf("got aria-sort %q, want ascending", sorted)
	}
	p.follow(`#clients .choices li:nth-child(5) a`)
	if title := p.text("#h-clients"); title != "Top clients, by events" {
		t.Errorf("got %q", title)
	}
	if names := p.column("lanes", 1); !slices.Equal(names, []string{"namespaces", "configmaps"}) {
		t.Errorf("lanes after another table was sorted: %q", names)
	}
	p.quiet()
}

// The page shows new data, keeps the scroll position, and can be paused.
func TestPageUpdates(t *testing.T) {
	settings.Long(t)
	b := newBrowser(t)
	s := newScene(t)
	p := b.open(t, s.page()+"?refresh=2", look{width: 390, height: 844, scheme: "light"})
	value[bool](p, "window.marked = true") // lost if the page is loaded again
	value[int](p, "document.querySelector('#s-lanes').scrollLeft = 120")
	if _, err := s.client(t, "late-comer/v1").Resource(suite.ConfigMaps).List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}); err != nil {
		t.Fatal(err)
	}
	p.eventually("the client is shown", func() error {
		if agents := p.column("clients", 4); !slices.Contains(agents, "late-comer/v1") {
			return fmt.Errorf("got %q", agents)
		}
		return nil
	})
	if !value[bool](p, "window.marked === true") || value[int](p, "document.querySelector('#s-lanes').scrollLeft") != 120 {
		t.Error("the page was loaded again, or lost its scroll position")
	}
	p.follow("#meta a")
	if scripts := value[int](p, "document.scripts.length"); scripts != 0 {
		t.Errorf("got %d scripts in a paused page, want none", scripts)
	}
	p.quiet()

	without := b.open(t, s.page()+"?refresh=2", look{width: 390, height: 844, scheme: "light", noScript: true})
	first := without.text("time")
	without.eventually("a page without script is loaded again", func() error {
		if now := without.text("time"); now == first {
			return fmt.Errorf("still from %s", now)
		}
		return nil
	})
	without.quiet()
}

// While the upstream is unreachable, that is the first problem. It disappears when the upstream is back.
func TestPageWhileTheUpstreamIsDown(t *testing.T) {
	settings.Long(t)
	b := newBrowser(t)
	s := newScene(t, func(c *facade.Config) { c.MaxStaleness, c.Repository = time.Hour, "https://git.example.com/x" })
	s.busy(t)
	p := b.open(t, s.page()+"?refresh=2", look{width: 1280, height: 1150, scheme: "light"})
	s.wire.cut()
	p.eventually("the page shows that the upstream is down", func() error {
		said, lanes := p.text("#problems"), p.column("lanes", 3)
		if !strings.Contains(said, "kube-apiserver has not responded") || !strings.Contains(said, "2 resources are stale") || !slices.Equal(lanes, []string{"stale", "stale"}) ||
			!strings.Contains(value[string](p, "document.title"), "problem") || !strings.HasSuffix(value[string](p, "document.querySelector('#icon').href"), "bad.svg") {
			return fmt.Errorf("got %q %q", said, lanes)
		}
		return nil
	})
	if link := value[string](p, "document.querySelector('.runbook').href"); link != "https://git.example.com/x/docs/runbook.md#listfacadelanestale" {
		t.Errorf("got runbook link %s", link)
	}
	p.keep("status-upstream-down")
	phone := b.open(t, s.page(), look{width: 390, height: 844, scheme: "dark"})
	if wide := value[int](phone, "document.documentElement.scrollWidth"); wide > 390 {
		t.Errorf("the page is %d wide", wide)
	}
	phone.keep("status-phone")
	s.wire.restore()
	p.eventually("no problems are shown again", func() error {
		if said := p.text("#verdict"); !strings.Contains(said, "No problems") && !strings.Contains(p.text("#problems"), "requests failed") {
			return fmt.Errorf("got %q", p.text("#problems"))
		}
		return nil
	})
	p.quiet()

	s.facade.Close(t)
	p.eventually("a page without a response says that it is old", func() error {
		if said := p.text("#silent"); !strings.Contains(said, "The facade does not respond. The data below is from ") {
			return fmt.Errorf("got %q", said)
		}
		return nil
	})
}

// The page works behind a proxy that serves it at a longer path.
func TestPageBehindAPrefix(t *testing.T) {
	b := newBrowser(t)
	s := newScene(t)
	s.busy(t)
	target, err := url.Parse(s.facade.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = s.facade.HTTP1Client(t).Transport
	address := serve(t, http.StripPrefix("/some/where", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = target.Host
		proxy.ServeHTTP(w, r)
	})))
	p := b.open(t, address+"/some/where/debug/status?refresh=2", desktop)
	p.follow("#lanes th:nth-child(4) a")
	for _, link := range value[[]string](p, "[...document.querySelectorAll('a.json')].map((a) => a.href)") {
		response, err := http.Get(link)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/json" || !strings.Contains(link, "/some/where/debug/") {
			t.Errorf("%s: got %s", link, response.Status)
		}
	}
	p.quiet()
}

// serve serves plain HTTP until the test ends.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}
