package rights

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The check reports problems of a configuration, a kubeconfig and its rights, without serving.
func TestCheck(t *testing.T) {
	cluster := suite.Cluster(t)
	reader, server := suite.FacadeKubeconfig(t, cluster), suite.FacadeConfig(t, cluster).Host
	powerless := testkit.WriteKubeconfig(t, cluster.ConfigOf(t, "powerless"))
	unknown := testkit.WriteKubeconfig(t, rest.AnonymousClientConfig(cluster.ConfigOf(t, "unknown")))
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	defer stranger.Close()
	alone := func(c *facade.Config) { c.Authentication.AnonymousActsAsKubeconfig = true }
	caching := func(c *facade.Config) {
		c.Preload, c.PreloadEncodings = []string{"namespaces"}, []string{"json", "protobuf"}
	}
	for name, test := range map[string]struct {
		kubeconfig string
		set        []func(*facade.Config)
		says       []string // beginnings of lines, in order, as regular expressions
		fails      bool
	}{
		"a reader alone": {
			reader, []func(*facade.Config){alone, caching}, []string{
				"ok    configuration: ", "note  callers: not authenticated", "ok    upstream: kube-apiserver v1\\.\\d+\\.\\d+ at https://",
				"ok    identity: \\S+, in groups .*system:authenticated", "ok    permission to get namespaces: granted",
				"ok    permission to get customresourcedefinitions: granted",
				"ok    permission to watch apiservices: granted", "ok    resource namespaces: [1-9]\\d* objects of v1, cached in json and protobuf from the start",
				"note  certificate: a self-signed pair", "(note|ok  )  memory: ",
			}, false,
		},
		"a user without rights": {
			powerless, []func(*facade.Config){caching}, []string{
				"ok    identity: powerless, ", "FAIL  permission to create tokenreviews: .*no bearer token is accepted",
				"FAIL  permission to create subjectaccessreviews: .*no caller may read anything", "FAIL  permission to get configmaps: .*client certificates or front proxies are not accepted",
				"FAIL  permission to get namespaces: .*another cluster", "FAIL  permission to get customresourcedefinitions: .*consistent reads of custom resources are forwarded",
				"note  authorizers: each token of a service account has its own access reviews: .*refused",
				"FAIL  resource namespaces: the kubeconfig user lacks permission to list and watch all objects of the resource",
			}, true,
		},
		"authorizers":     {reader, nil, []string{"ok    authorizers: the tokens of a service account share access reviews"}, false},
		"an unknown user": {unknown, nil, []string{"FAIL  "}, true},
		"no such file":    {filepath.Join(t.TempDir(), "none"), nil, []string{"FAIL  upstream: read --kubeconfig .*none"}, true},
		"an invalid value": {
			reader, []func(*facade.Config){func(c *facade.Config) { c.Port = -1 }}, []string{"FAIL  configuration: --secure-port -1"}, true,
		},
		"an unknown resource": {
			reader, []func(*facade.Config){alone, func(c *facade.Config) { c.Preload = []string{"potatoes"} }},
			[]string{"FAIL  resource potatoes: "}, true,
		},
		"both ways": {
			reader, []func(*facade.Config){alone, func(c *facade.Config) {
				c.Resources = map[schema.GroupResource]facade.Resource{{Resource: "configmaps"}: {Preload: []string{"json"}}}
				c.Uncached = append(c.Uncached, "configmaps")
			}},
			[]string{"FAIL  configuration: resource configmaps: the resource is both preloaded and uncached"}, true,
		},
		"settings without an effect": {
			reader, []func(*facade.Config){alone, func(c *facade.Config) {
				c.Resources = map[schema.GroupResource]facade.Resource{{Resource: "deployments"}: {Cached: new(bool)}, {Resource: "potatoes"}: {HistoryBytes: 1}}
			}},
			[]string{"note  resource deployments: the settings of this resource have no effect now: no resource", "note  resource potatoes: "}, false,
		},
		"endpoints": {
			reader, []func(*facade.Config){alone, func(c *facade.Config) { c.Upstream = []string{"https://127.0.0.1:1", server} }},
			[]string{
				"note  endpoint https://127.0.0.1:1: .*refused", "ok    endpoint " + regexp.QuoteMeta(server) + ": answers",
				"ok    upstream: kube-apiserver v1\\.\\d+\\.\\d+ at " + regexp.QuoteMeta(server),
			}, false,
		},
		"endpoints without an answer": {
			reader, []func(*facade.Config){alone, func(c *facade.Config) { c.Upstream = []string{"https://127.0.0.1:1", "https://127.0.0.1:2"} }},
			[]string{"note  endpoint https://127.0.0.1:2: .*refused", "FAIL  upstream: no endpoint of --upstream can be used"}, true,
		},
		"a kubeconfig of its own for reviews": {
			powerless, []func(*facade.Config){func(c *facade.Config) { c.Authentication.Kubeconfig = reader }}, []string{
				"ok    permission to create tokenreviews with " + regexp.QuoteMeta(reader) + ": granted", "FAIL  permission to create subjectaccessreviews: ",
				"ok    permission to get configmaps with ",
			}, true,
		},
		"a kubeconfig without rights for reviews": {
			reader, []func(*facade.Config){func(c *facade.Config) { c.Authorization.Kubeconfig = powerless }}, []string{
				"ok    permission to create tokenreviews: granted", "FAIL  permission to create subjectaccessreviews with .*no caller may read anything",
			}, true,
		},
		"peers": {
			reader, []func(*facade.Config){alone, func(c *facade.Config) { c.WarmFrom = []string{"https://127.0.0.1:1", server} }}, []string{
				"note  peer https://127.0.0.1:1: .*refused", "ok    peer " + regexp.QuoteMeta(server) + ": the peer reads the same cluster",
			}, false,
		},
		"a peer that cannot be trusted": {
			reader, []func(*facade.Config){alone, func(c *facade.Config) { c.WarmFrom = []string{stranger.URL} }},
			[]string{"FAIL  peer " + regexp.QuoteMeta(stranger.URL) + ": .*certificate"}, true,
		},
		"a journal": {
			reader, []func(*facade.Config){alone, func(c *facade.Config) { c.JournalDir, c.JournalMaxBytes = leftovers(t, cluster), 1<<60 }},
			[]string{
				"ok    journal: 7 segments of 5 lanes, 0 MiB in .*, \\d+ MiB are free", "note  journal: --journal-max-bytes allows \\d+ MiB, but only",
				"note  journal of broken: would not be used .*file is damaged", "note  journal of cluster: .*belongs to another cluster",
				"note  journal of hole: read segment 1: .*damaged", "note  journal of hole: events may be missing from \\S+Z to \\S+Z\n",
				"note  journal of old: .*last record of the lane is 1h0m\\d+s old", "note  journal of version: .*from kube-apiserver v1\\.0\\.0",
			}, false,
		},
		"no journal yet": {
			reader, []func(*facade.Config){alone, func(c *facade.Config) { c.JournalDir = filepath.Join(t.TempDir(), "a", "b") }},
			[]string{"note  journal: .* does not exist yet", "ok    journal: 0 segments of 0 lanes"}, false,
		},
		"a journal where there is a file": {
			reader, []func(*facade.Config){alone, func(c *facade.Config) { c.JournalDir = reader }}, []string{"FAIL  journal: .*not a directory"}, true,
		},
		"no pair": {
			reader, []func(*facade.Config){alone, func(c *facade.Config) { c.CertFile, c.KeyFile = "none.crt", "none.key" }},
			[]string{"FAIL  certificate: "}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := facade.Defaults()
			c.PeerWait = time.Minute // long enough for a busy machine
			c.Kubeconfig, c.BindAddress, c.CertDir = test.kubeconfig, net.IPv4(127, 0, 0, 1), filepath.Join(t.TempDir(), "made")
			for _, set := range test.set {
				set(&c)
			}
			var out strings.Builder
			if err := facade.Check(t.Context(), c, &out); errors.Is(err, facade.ErrCheck) != test.fails || err != nil && !test.fails {
				t.Errorf("%v", err)
			}
			if strings.Contains(out.String(), "FAIL") != test.fails {
				t.Error("the report and the returned error differ")
			}
			rest := out.String()
			for _, line := range test.says {
				at := regexp.MustCompile("(?m)^" + line).FindStringIndex(rest)
				if at == nil {
					t.Errorf("the report lacks %q:\n%s", line, &out)
					break
				}
				rest = rest[at[1]:]
			}
		})
	}
}

// leftovers returns a journal with lanes that a facade would ignore, and one with a hole.
func leftovers(t *testing.T, cluster *testkit.Cluster) string {
	t.Helper()
	clients := suite.NewClients(t, cluster.ConfigOf(t, "admin", "system:masters"))
	system, err := clients.Typed.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	version, err := clients.Typed.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	dir, now := t.TempDir(), time.Now()
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	good := journal.Identity{Cluster: string(system.UID), Upstream: version.GitVersion + " as ."}
	other, older := good, good
	other.Cluster, older.Upstream = "other", "v1.0.0 as ."
	for name, starts := range map[string][]journal.Start{
		"broken": {{Identity: good, Time: now}}, "cluster": {{Identity: other, Time: now}}, "version": {{Identity: older, Time: now}},
		"old":  {{Identity: good, Time: now.Add(-time.Hour)}},
		"hole": {{Identity: good, Time: now}, {Identity: good, Time: now}, {Identity: good, Time: now}},
	} {
		w := j.Lane(name)
		for _, start := range starts {
			if err := w.Begin(t.Context(), start, func(func(journal.Record) bool) {}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"broken", "hole"} {
		segments, err := journal.Segments(dir, name)
		if err == nil {
			err = os.Truncate(segments[0].Path, 9)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}
