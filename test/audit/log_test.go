package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

func TestMain(m *testing.M) {
	facade.LogLibraries(zap.NewNop())
	os.Exit(m.Run())
}

const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- {level: None, users: ["system:apiserver"]}
- {level: Request, resources: [{group: "", resources: [services]}], omitStages: [RequestReceived]}
- {level: Metadata}
`

// both is a kube-apiserver and a facade that write audit logs.
type both struct {
	cluster *testkit.Cluster
	facade  *suite.Facade
	logs    map[string]string // paths, by server
}

func newBoth(t *testing.T) *both {
	t.Helper()
	dir := t.TempDir()
	b := &both{logs: map[string]string{"kube-apiserver": filepath.Join(dir, "kube-apiserver.log"), "listfacade": filepath.Join(dir, "listfacade.log")}}
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster, err := testkit.StartCluster(t.Context(), "--apiserver-arg=--audit-policy-file="+file, "--apiserver-arg=--audit-log-path="+b.logs["kube-apiserver"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	b.cluster = cluster
	b.facade = suite.StartDelegating(t, cluster, func(c *facade.Config) { c.Audit.PolicyFile, c.Audit.Path = file, b.logs["listfacade"] })
	return b
}

// as returns the configuration of a user. anonymous has no credentials, and stranger has invalid ones.
func (b *both) as(t *testing.T, user string) *rest.Config {
	t.Helper()
	name := user
	if user == "anonymous" || user == "stranger" {
		name = "admin"
	}
	config, err := b.cluster.Config(name)
	if err != nil {
		t.Fatal(err)
	}
	if name != user {
		config = rest.AnonymousClientConfig(config)
	}
	if user == "stranger" {
		config.BearerToken = "nonsense"
	}
	return config
}

// allowedBy is the prefix of RBAC's reasons to allow a request.
const allowedBy = "RBAC: allowed by ClusterRoleBinding"

// event is an event of a log.
type event map[string]any

func (e event) stage() string { return fmt.Sprint(e["stage"]) }

// about returns the events of a log about a request, and whether the last one is among them.
func about(path, id string) (events []event, complete bool, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, false, err
	}
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `"auditID":"`+id+`"`) || !strings.HasSuffix(line, "\n") {
			continue
		}
		e := event{}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, false, err
		}
		status, _ := e["responseStatus"].(map[string]any)
		complete = complete || e.stage() == "ResponseComplete" || e.stage() == "ResponseStarted" && status["code"] == float64(401)
		events = append(events, e)
	}
	return events, complete, nil
}

// masked returns the events without values that always differ. It also removes the reason for paths such as /version:
// two bindings of kube-apiserver allow them, and kube-apiserver names the one that it finds first.
func masked(events []event) []event {
	for _, e := range events {
		delete(e, "auditID")
		delete(e, "requestReceivedTimestamp")
		delete(e, "stageTimestamp")
		annotations, _ := e["annotations"].(map[string]any)
		for key := range annotations {
			if strings.HasPrefix(key, "apiserver.latency.k8s.io/") {
				delete(annotations, key)
			}
			if reason := fmt.Sprint(annotations[key]); e["objectRef"] == nil && strings.HasPrefix(reason, allowedBy) {
				annotations[key] = allowedBy
			}
		}
	}
	return events
}

// passed removes the values that only kube-apiserver can have for forwarded requests: the reason of the decision, and
// the text of a refusal.
func passed(events []event) []event {
	for _, e := range events {
		if annotations, ok := e["annotations"].(map[string]any); ok {
			delete(annotations, "authorization.k8s.io/reason")
		}
		if status, ok := e["responseStatus"].(map[string]any); ok {
			e["responseStatus"] = map[string]any{"metadata": status["metadata"], "code": status["code"]}
		}
	}
	return events
}

const pods = "/api/v1/namespaces/team-a/pods"

// questions are the requests by user.
var questions = map[string][]string{
	"alice": {
		pods, pods + "?limit=5", pods + "?resourceVersion=0&labelSelector=a%3Db%26c", pods + "?watch=1&timeoutSeconds=1", pods + "/none?resourceVersion=0",
		"/api/v1/pods", "/api/v1/namespaces/default/pods/x", "/api/v1/namespaces/team-a/services?resourceVersion=0", "/version", "/api", "/apis/apps/v1", "/nothing",
		pods + "?watch=1&resourceVersion=0&allowWatchBookmarks=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&timeoutSeconds=1",
		"/api/v1/watch/namespaces/team-a/pods?timeoutSeconds=1", "/apis/apps/v1/namespaces/team-a/deployments", "/api/v1/pods?watch=1",
		pods + "?resourceVersion=0&timeout=5s", "/apis/apps/v1/namespaces/team-a/deployments/x?resourceVersion=0",
	},
	"admin":     {"/api/v1/nodes", "/api/v1/namespaces/team-a?resourceVersion=0", "/api/v1/namespaces?fieldSelector=metadata.name%3Dteam-a", "/openapi/v3"},
	"anonymous": {"/version", pods, pods + "?watch=1"},
	"stranger":  {"/version", pods, pods + "?watch=1"},
}

// onward are requests that the facade forwards, from an account that may read only the third.
var onward = []string{pods + "/none/status", "/api/v1/namespaces/team-a/secrets", "/.well-known/openid-configuration"}

// TestEventsMatchKubeAPIServer: the facade writes the same events as kube-apiserver for the same requests.
func TestEventsMatchKubeAPIServer(t *testing.T) {
	b := newBoth(t)
	for user, paths := range questions {
		oracle := b.facade.As(t, b.as(t, user))
		for i, path := range paths {
			id := fmt.Sprint(user, "-", i)
			b.ask(t, oracle, id, path)
			if diff := cmp.Diff(masked(b.events(t, "kube-apiserver", "up-"+id)), masked(b.events(t, "listfacade", "our-"+id))); diff != "" {
				t.Errorf("%s gets %s (-kube-apiserver +listfacade):\n%s", user, path, diff)
			}
		}
	}
	oracle := b.facade.As(t, b.cluster.ConfigWithToken(b.cluster.Token(t, "team-a", "onward", testkit.TokenOptions{})))
	for i, path := range onward {
		id := fmt.Sprint("onward-", i)
		b.ask(t, oracle, id, path)
		ours := b.events(t, "listfacade", "our-"+id)
		if diff := cmp.Diff(passed(masked(b.events(t, "kube-apiserver", "up-"+id))), passed(masked(ours))); diff != "" {
			t.Errorf("forwarded %s (-kube-apiserver +listfacade):\n%s", path, diff)
		}
		if joined := b.events(t, "kube-apiserver", "our-"+id); len(joined) == 0 {
			t.Errorf("%s: got no event with the audit ID in kube-apiserver's log", path)
		}
	}
}

// ask sends a request to both servers, each with its own audit ID.
func (b *both) ask(t *testing.T, oracle *testkit.Oracle, id, path string) {
	t.Helper()
	for prefix, asker := range map[string]*testkit.Asker{"up-": oracle.Upstream, "our-": oracle.Facade} {
		if _, err := asker.Ask(t.Context(), testkit.Question{Path: path, Header: map[string][]string{"Audit-Id": {prefix + id}}}); err != nil {
			t.Fatalf("%s: got %v", path, err)
		}
	}
}

// events waits for all events of a request.
func (b *both) events(t *testing.T, server, id string) (events []event) {
	t.Helper()
	testkit.Eventually(t, server+" has written about "+id, func() error {
		var complete bool
		var err error
		if events, complete, err = about(b.logs[server], id); err == nil && !complete {
			err = fmt.Errorf("%d events", len(events))
		}
		return err
	})
	return events
}
