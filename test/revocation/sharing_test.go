package revocation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	authorizers = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n%s" +
		"- {type: Node, name: node}\n- {type: RBAC, name: rbac}\n"
	// webhookFirst excludes users that are not service accounts, so only the exclusions of the facade's check are counted
	// at first.
	webhookFirst = `- type: Webhook
  name: pods
  webhook:
    timeout: 30s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: NoOpinion
    authorizedTTL: 1s
    cacheAuthorizedRequests: false
    unauthorizedTTL: 1s
    cacheUnauthorizedRequests: false
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: %s}
    matchConditions: [{expression: "request.user.startsWith('system:serviceaccount:')"}]
`
	podName = "authentication.kubernetes.io/pod-name"
	denied  = "pod-3"
)

// podWebhook returns the kubeconfig of a webhook that denies everything to one pod, and has no opinion otherwise.
func podWebhook(t *testing.T) string {
	t.Helper()
	return suite.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Status.Denied = slices.Contains(review.Spec.Extra[podName], denied)
		_ = json.NewEncoder(w).Encode(review)
	}))
}

// addPods creates pods that run as the account robot, and returns client configurations with their tokens.
func (p *place) addPods(t *testing.T, n int) []*rest.Config {
	t.Helper()
	p.addRole(t)
	p.bind(t, "Role", reader, p.anAccount("robot"))
	p.bearer(t, "robot", testkit.TokenOptions{}) // which creates the account
	var all []*rest.Config
	for i := range n {
		name := fmt.Sprintf("pod-%d", i)
		p.Create(t, suite.Pods, map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"serviceAccountName": "robot", "containers": []any{map[string]any{"name": "c", "image": "none"}}},
		})
		all = append(all, p.bearer(t, "robot", testkit.TokenOptions{Pod: name}))
	}
	return all
}

// count returns the sum of the values in a server's metrics whose series matches.
func count(t *testing.T, asker *testkit.Asker, series string) (sum float64) {
	t.Helper()
	answer := asker.MustAsk(t, testkit.Question{Path: "/metrics"})
	for _, found := range regexp.MustCompile(`(?m)^`+series+` (\S+)$`).FindAllSubmatch(answer.Body, -1) {
		n, err := strconv.ParseFloat(string(found[1]), 64)
		must(t, err)
		sum += n
	}
	return sum
}

// The pods of a service account share reviews. When a webhook authorizer appears that denies one of them, the facade
// refuses exactly what kube-apiserver refuses: the requests and the watch of that pod. So does a facade that starts
// later.
func TestPodsShareReviewsUntilWebhookAppears(t *testing.T) {
	t.Parallel() // this test has its own cluster
	pods := settings.Amount(20, 50)
	config, webhook := filepath.Join(t.TempDir(), "authorization.yaml"), podWebhook(t)
	write := func(first string) { must(t, os.WriteFile(config, fmt.Appendf(nil, authorizers, first), 0o600)) }
	write("")
	own, err := testkit.StartCluster(t.Context(), "--components=none", "--apiserver-arg=--authorization-config="+config)
	must(t, err)
	t.Cleanup(own.Close)
	briefly := func(c *facade.Config) {
		c.Authorization.Extras = "auto"
		c.Authorization.WatchReauthorize, c.Authorization.AllowedTTL, c.Authorization.DeniedTTL = 2*time.Second, time.Second, time.Second
	}
	p, run := newPlace(t, own), suite.StartDelegating(t, own, briefly)
	root := run.As(t, p.Config)
	testkit.Eventually(t, "decisions are shared", func() error {
		return wants(int(count(t, root.Facade, "listfacade_decisions_shared")), 1)
	})
	tokens := p.addPods(t, pods)
	var of []*testkit.Oracle
	for _, token := range tokens {
		of = append(of, run.As(t, token))
	}
	list := testkit.Question{Path: suite.Collection(suite.ConfigMaps, p.Namespace)}
	testkit.Eventually(t, "the role counts", func() error { return wants(of[0].Facade.MustAsk(t, list).Code, http.StatusOK) })

	const reviews = `apiserver_request_total\{.*resource="subjectaccessreviews".*\}`
	before := count(t, root.Upstream, reviews)
	var watches []*testkit.Recorder
	for _, o := range of {
		if got := o.Facade.MustAsk(t, list).Code; got != http.StatusOK {
			t.Errorf("got %d, want 200", got)
		}
		watches = append(watches, o.Facade.MustRecord(t, p.question(ways["JSON"])))
	}
	// A decision expires after a second, so the number depends on the time that the requests take.
	n := count(t, root.Upstream, reviews) - before
	if n >= float64(pods) {
		t.Errorf("got %v reviews for %d lists and watches, want fewer than pods", n, pods)
	}
	t.Logf("%v reviews for %d lists and %d watches", n, pods, pods)

	write(fmt.Sprintf(webhookFirst, webhook))
	testkit.Eventually(t, "kube-apiserver asks the webhook", func() error {
		return wants(of[3].Upstream.MustAsk(t, list).Code, http.StatusForbidden)
	})
	testkit.Eventually(t, "the facade refuses the pod", func() error { return wants(of[3].Facade.MustAsk(t, list).Code, http.StatusForbidden) })
	watches[3].Ended(t)
	last := p.put(t, suite.ConfigMaps, "seen", "1")
	for i, o := range of {
		if upstream, got := o.Upstream.MustAsk(t, list).Code, o.Facade.MustAsk(t, list).Code; got != upstream {
			t.Errorf("pod %d: got %d, want %d as from kube-apiserver", i, got, upstream)
		}
		if i != 3 {
			watches[i].Until(t, "the watch continues", func(r *testkit.Recording) bool { return r.Reached() >= last })
		}
	}
	later := suite.StartDelegating(t, own, briefly)
	testkit.Eventually(t, "the metrics show the webhook", func() error {
		return wants(later.Lines.FilterMessage("Deciding access for each token of a service account separately").Len(), 1)
	})
	for i, o := range of[:5] {
		asker := later.As(t, tokens[i]).Facade
		if upstream, got := o.Upstream.MustAsk(t, list).Code, asker.MustAsk(t, list).Code; got != upstream {
			t.Errorf("later, pod %d: got %d, want %d as from kube-apiserver", i, got, upstream)
		}
	}
}
