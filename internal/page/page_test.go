package page

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/metrics"
)

// of returns a page of one Status.
func of(s *Status) *Page {
	p := New(func(Orders) *Status { return s })
	limits := s.Limits
	p.ShowLimits(func() []Limit { return limits })
	return p
}

// answered returns the body of the page's answer, and fails the test on an error.
func answered(t *testing.T, p *Page, path, query, accept string) string {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := p.Answer(path, values, accept)
	if err != nil {
		t.Fatalf("%s?%s: %v", path, query, err)
	}
	return string(answer.Body)
}

// Text from clients is never markup.
func TestHostileTextsAreEscaped(t *testing.T) {
	s := illStatus()
	for _, field := range []*string{
		&s.Process.Name, &s.Process.Version, &s.Lanes[0].Resource, &s.Lanes[0].Why, &s.Clients.Clients[0].User, &s.Clients.Clients[0].UserAgent, &s.Clients.Clients[0].Selector,
		&s.Watches.Items[0].User, &s.Watches.Items[0].LabelSelector, &s.Requests.Items[0].Name, &s.Slow.Items[0].URI, &s.Slow.Items[0].User, &s.Slow.Items[0].AuditID,
		&s.Upstream.LastError, &s.Upstream.Endpoint, &s.Health[1].Error, &s.Health[1].Name,
	} {
		*field = hostile
	}
	s.Behind = s.Watches.Items
	html := answered(t, of(s), Path, "", "text/html")
	for _, bad := range []string{"<script>", "<img", `" '`} {
		if strings.Contains(html, bad) {
			t.Errorf("got %s unescaped in the page", bad)
		}
	}
	if n := strings.Count(html, "<script"); n != 1 {
		t.Errorf("got %d scripts, want 1", n)
	}
	if strings.Count(html, "&lt;script&gt;") < 10 {
		t.Error("got fewer than 10 escaped texts of clients")
	}
}

// The page contains nothing that its Content-Security-Policy forbids, and no absolute links.
func TestPageObeysItsPolicy(t *testing.T) {
	for name, s := range map[string]*Status{"well": wellStatus(), "ill": illStatus()} {
		html := answered(t, of(s), Path, "", "text/html")
		for _, forbidden := range []string{`<[^>]*\sstyle=`, `<style`, `<[a-z]+(\s[a-z-]+="[^"]*")*\son[a-z]+=`, `href="javascript:`, `(href|src)="/`, `<script>`, `ZgotmplZ`} {
			if at := regexp.MustCompile(forbidden).FindString(html); at != "" {
				t.Errorf("%s: got %q", name, at)
			}
		}
		for _, file := range regexp.MustCompile(`(?:href|src)="status/([a-z.]+)"`).FindAllStringSubmatch(html, -1) {
			if _, err := of(s).Answer(Path+"/"+file[1], nil, "*/*"); err != nil {
				t.Errorf("%s: got %v", file[1], err)
			}
		}
	}
}

// Each table exists as JSON and as text, on the complete page and alone.
func TestEveryTableIsJSONAndText(t *testing.T) {
	p := of(illStatus())
	var whole map[string]any
	if err := json.Unmarshal([]byte(answered(t, p, Path, "output=json", "text/html")), &whole); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"problems", lanes, clients, watches, requests, slow, memory, limits, upstreams, "history", "saved"} {
		var part any
		if err := json.Unmarshal([]byte(answered(t, p, Path+"/"+name, "", "application/json")), &part); err != nil {
			t.Errorf("%s: got %v", name, err)
		}
		if whole[name] == nil {
			t.Errorf("got no %s in the complete page", name)
		}
	}
	text := answered(t, p, Path, "output=text", "")
	for _, want := range []string{"critical: kube-apiserver has not responded", "Lanes\n", "endpointslices.discovery.k8s.io", "--max-watches"} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %q in the text:\n%s", want, text)
		}
	}
	if text := answered(t, p, Path+"/lanes", "output=text", ""); !strings.HasPrefix(text, "Resource") {
		t.Errorf("got %s", text)
	}
}

// The tile shows saved processors, without those that kube-apiserver needs for the facade's own requests.
func TestSavedProcessorsAreShown(t *testing.T) {
	s := wellStatus()
	html := answered(t, of(s), Path, "", "text/html")
	if want := `<dt>CPU saved</dt><dd class="">1.42<small>processors, est.</small>`; !strings.Contains(html, want) {
		t.Errorf("got no %q", want)
	}
	s.Saved.CPU = 0 // reads that cost more than they save
	if html := answered(t, of(s), Path, "", "text/html"); !strings.Contains(html, "<dd class=\"\">-0.04<small>processors") {
		t.Error("got no negative number for a facade that saves nothing")
	}
	s.Saved.Caused = 1e-9
	if html := answered(t, of(s), Path, "", "text/html"); !strings.Contains(html, "<dd class=\"\">0.00<small>processors") {
		t.Error("got no 0.00 for a facade that does nothing")
	}
}

// Without a format in the query, the Accept header decides: browsers get the page, kubectl gets JSON.
func TestFormatIsNegotiated(t *testing.T) {
	p := of(wellStatus())
	for accept, want := range map[string]string{
		"text/html,application/xhtml+xml,*/*;q=0.8": "text/html; charset=utf-8", "application/json, */*": "application/json", "text/plain": "text/plain; charset=utf-8", "": "text/html; charset=utf-8",
	} {
		if answer, err := p.Answer(Path, nil, accept); err != nil || answer.ContentType != want {
			t.Errorf("%q: %v %v", accept, answer, err)
		}
	}
	var types *NotAcceptableError
	if _, err := p.Answer(Path, nil, "image/png"); !errors.As(err, &types) || len(types.Types) != 3 {
		t.Errorf("got %v", err)
	}
}

// An invalid query is refused, and the error names the parameter.
func TestInvalidQueryIsRefused(t *testing.T) {
	p := of(wellStatus())
	for query, want := range map[string]string{
		"lanes=size": `lanes: Unsupported value: "size": supported values: "resource"`, "clients=cost": `clients: Unsupported value`, "watches=-lag": "watches: Unsupported value",
		"refresh=1": "refresh: Invalid value", "refresh=soon": "refresh: Invalid value", "output=xml": "output: Unsupported value", "slow=x": "slow: Unsupported value",
	} {
		values, _ := url.ParseQuery(query)
		var bad *QueryError
		if _, err := p.Answer(Path, values, ""); !errors.As(err, &bad) || !strings.Contains(bad.Text, want) {
			t.Errorf("%s: got %v", query, err)
		}
	}
	for _, path := range []string{Path + "/nothing", Path + "/"} {
		if _, err := p.Answer(path, nil, ""); !errors.Is(err, ErrNoSuchPage) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

// Tables are sorted as requested. By default the worst lanes come first.
func TestLanesAreSorted(t *testing.T) {
	p := of(illStatus())
	names := func(query string) string {
		var all []string
		for _, line := range strings.Split(answered(t, p, Path+"/lanes", query+"&output=text", ""), "\n")[1:] {
			all = append(all, strings.SplitN(line, " ", 2)[0])
		}
		return strings.TrimSpace(strings.Join(all, " "))
	}
	for query, want := range map[string]string{
		"lanes=objects":   "pods pods endpointslices.discovery.k8s.io configmaps nodes deployments.apps",
		"lanes=-objects":  "deployments.apps nodes configmaps endpointslices.discovery.k8s.io pods pods",
		"lanes=resource":  "configmaps deployments.apps endpointslices.discovery.k8s.io nodes pods pods",
		"lanes=-resource": "pods pods nodes endpointslices.discovery.k8s.io deployments.apps configmaps",
	} {
		if got := names(query); got != want {
			t.Errorf("%s: got %s", query, got)
		}
	}
	if got := names(""); !strings.HasSuffix(got, "deployments.apps") {
		t.Errorf("by state: %s", got)
	}
}

// A page without data is complete.
func TestEmptyStatusIsShown(t *testing.T) {
	html := answered(t, of(&Status{At: noon}), Path, "", "text/html")
	for _, want := range []string{"No problems", "Nothing is cached", "</html>"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// Each kind of problem is reported with its severity and a link. A healthy facade has no problems.
func TestProblemsAreReported(t *testing.T) {
	if found := judge(wellStatus()); len(found) != 0 {
		t.Errorf("got %+v of a healthy facade, want none", found)
	}
	for name, c := range map[string]struct {
		set      func(*Status)
		severity Severity
		what     string
	}{
		"upstream":           {func(s *Status) { s.Upstream.SilentSeconds = 42 }, Critical, "kube-apiserver has not responded for 42s"},
		"upstream, a moment": {func(s *Status) { s.Upstream.SilentSeconds = 3 }, Warning, "kube-apiserver has not responded"},
		"stale":              {func(s *Status) { s.Lanes[0].State, s.Lanes[0].StaleSeconds = Stale, 90 }, Critical, "1 resource is stale: no message from kube-apiserver for 1m30s"},
		"syncing": {func(s *Status) {
			s.Lanes[0].State, s.Lanes[0].Filled, s.Lanes[0].Expected = Syncing, 10, 1000
			s.Lanes[0].AgeSeconds = 3
		}, Notice, "pods (json) is being listed: 10 of about 1,000 objects"},
		"relisting":   {func(s *Status) { s.Lanes[0].State = Relisting }, Notice, "pods (json) is being listed again"},
		"relist loop": {func(s *Status) { s.Lanes[0].Relists = 4 }, Warning, "pods (json) was listed again 4 times in 30 minutes"},
		"a difference": {func(s *Status) {
			s.Lanes[0].Differed = &Difference{At: noon.Add(-12 * time.Minute), Objects: 3, Relisted: true}
			s.Lanes[1].Differed = &Difference{At: noon.Add(-2 * time.Hour), Objects: 3, Relisted: true} // long ago
		}, Critical, "pods (json) differed from kube-apiserver: 3 objects, 12m ago"},
		"a difference without a relist": {func(s *Status) {
			s.Lanes[0].Differed = &Difference{At: noon.Add(-5 * time.Hour), Objects: 3}
		}, Critical, "pods (json) differed from kube-apiserver: 3 objects, 5h ago"},
		"not compared": {func(s *Status) { s.Lanes[1].AuditAgeSeconds, s.Lanes[2].AuditAgeSeconds = 7e4, 18*3600 }, Warning,
			"1 resource has not been compared with kube-apiserver for 19h26m"},
		"failing":           {func(s *Status) { s.Lanes[0].State = Failing }, Critical, "pods (json) is not filled"},
		"refused":           {func(s *Status) { s.Lanes[0].State = Refused }, Warning, "The facade cannot cache pods (json)"},
		"no memory":         {func(s *Status) { s.Lanes[0].State = NoMemory }, Critical, "Not enough memory to cache pods (json)"},
		"budget":            {func(s *Status) { s.Memory.Used = s.Memory.Budget * 9 / 10 }, Warning, "Memory is near its budget"},
		"refusals":          {func(s *Status) { s.Memory.Refused = map[string]int64{"watches": 2} }, Notice, "2 requests were refused for lack of memory"},
		"certificate":       {func(s *Status) { s.Certificates[0].NotAfter = noon.Add(5 * 24 * time.Hour) }, Warning, "The serving certificate expires in 5d"},
		"certificate, over": {func(s *Status) { s.Certificates[0].NotAfter = noon.Add(-time.Hour) }, Critical, "The serving certificate expired 1h ago"},
		"authorities":       {func(s *Status) { s.Untrusted = "there is none" }, Warning, "CA certificates that verify callers cannot be read"},
		"leaving":           {func(s *Status) { s.Process.Leaving = true }, Warning, "This replica is shutting down"},
		"draining":          {func(s *Status) { s.Process.Draining = true }, Warning, "This replica is shutting down: watches end"},
		"not ready":         {func(s *Status) { s.Health[1].Error = "not read" }, Critical, "Not ready: discovery"},
		"throttled":         {func(s *Status) { s.Upstream.Questions[3].Throttled = 9 }, Warning, "kube-apiserver throttles"},
		"reviews":           {func(s *Status) { s.Upstream.Questions[4].Refused = 100 }, Critical, "Reviews of callers fail: 100 of 902"},
		"lag":               {func(s *Status) { s.Behind[0].LagSeconds = 9 }, Warning, "1 watch lags behind by more than 5s"},
		"errors":            {func(s *Status) { s.History[len(s.History)-1].Failed = 2000 }, Warning, "2,000 of"},
		"429":               {func(s *Status) { s.History[len(s.History)-1].Refused = 1 }, Notice, "1 request was refused with 429"},
		"forwarded":         {func(s *Status) { s.History[len(s.History)-1].Upstream = 1 << 20 }, Notice, "of requests are forwarded to kube-apiserver"},
		"limit":             {func(s *Status) { s.Limits[2].Taken = 49_000 }, Warning, "open watches: 49,000 of 50,000 in use"},
		"queue":             {func(s *Status) { s.Limits[0].Waiting = 3 }, Warning, "3 waiting"},
		"an endpoint": {
			func(s *Status) {
				s.Upstream.Endpoints = []metrics.Endpoint{{Host: "a:1", InUse: true, Ready: true}, {Host: "b:1", Why: "belongs to another cluster"}}
			}, Warning, "kube-apiserver b:1 is not ready",
		},
		"journal not open":   {func(s *Status) { s.Journal = &Journal{} }, Warning, "The journal could not be opened"},
		"journal behind":     {func(s *Status) { s.Journal = &Journal{Open: true, LagSeconds: 90} }, Warning, "The journal was last written 1m30s ago"},
		"journal over limit": {func(s *Status) { s.Journal = &Journal{Open: true, Over: true} }, Warning, "The journal exceeds --journal-max-bytes"},
		"audit":              {func(s *Status) { s.History[len(s.History)-2].AuditLost = 5 }, Critical, "The audit log lost 5 events"},
	} {
		s := wellStatus()
		c.set(s)
		found := judge(s)
		if len(found) != 1 || found[0].Severity != c.severity || !strings.Contains(found[0].What, c.what) || found[0].Runbook == "" {
			t.Errorf("%s: got %+v", name, found)
		}
	}
	ill := judge(illStatus())
	if len(ill) < 4 || ill[0].Severity != Critical || ill[len(ill)-1].Severity == Critical {
		t.Errorf("got %+v", ill)
	}
}

// A problem names its document by the path in the repository, and by a URL if the URL of the repository is known.
func TestProblemsNameTheirDocument(t *testing.T) {
	for repository, want := range map[string]string{"": "docs/", "https://git.example.com/x": "https://git.example.com/x/docs/"} {
		s := illStatus()
		s.Repository = repository
		for _, problem := range judge(s) {
			if !strings.HasPrefix(problem.Runbook, want) {
				t.Errorf("got document %s of %q, want it below %s", problem.Runbook, problem.What, want)
			}
		}
	}
}

// Every link to the documents leads to an existing heading.
func TestProblemsLeadToHeadings(t *testing.T) {
	headings := map[string]bool{}
	for _, file := range []string{"runbook.md", "operating.md"} {
		document, err := os.ReadFile(filepath.Join("..", "..", "docs", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, heading := range regexp.MustCompile(`(?m)^##+ (.*)$`).FindAllStringSubmatch(string(document), -1) {
			anchor := strings.ReplaceAll(strings.ToLower(regexp.MustCompile(`[^\w\s-]`).ReplaceAllString(heading[1], "")), " ", "-")
			headings[file+"#"+anchor] = true
		}
	}
	sources, err := filepath.Glob("problems*.go")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`\b(runbook|operating)\s*\+\s*"([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			if links++; !headings[link[1]+".md#"+link[2]] {
				t.Errorf("docs/%s.md has no heading #%s", link[1], link[2])
			}
		}
	}
	if links < 15 {
		t.Errorf("got %d links, want at least 15", links)
	}
}

// Numbers have three digits and a unit.
func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		size(0): "0 B", size(999): "999 B", size(1024): "1.00 KiB", size(123_456_789): "118 MiB", size(5 << 30): "5.00 GiB",
		count(1_234_567): "1,234,567", count(999): "999", duration(90 * time.Second): "1m30s", duration(26 * time.Hour): "26h", duration(72 * time.Hour): "3d",
		duration(1500 * time.Microsecond): "1ms", duration(2300 * time.Millisecond): "2.3s", duration(40 * time.Second): "40s", duration(-1): "0s",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// BenchmarkPage measures the cost of one request for the page.
func BenchmarkPage(b *testing.B) {
	p := of(wellStatus())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Answer(Path, nil, "text/html"); err != nil {
			b.Fatal(err)
		}
	}
}
