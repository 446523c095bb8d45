package rights

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
	"github.com/listfacade/listfacade/internal/verify"
)

// verified runs the command "verify", and returns its output and exit code.
func verified(t *testing.T, facade, upstream *rest.Config, o verify.Options) (string, int) {
	t.Helper()
	if o.Encodings == nil {
		o.Encodings = []string{"json", "protobuf"}
	}
	if o.Limit == 0 {
		o.Limit, o.Shown = 7, 2 // several pages
	}
	var out bytes.Buffer
	err := verify.Run(t.Context(), facade, upstream, o, &out)
	var coded *verify.Error
	if err == nil {
		return out.String(), 0
	}
	if !errors.As(err, &coded) {
		t.Fatalf("%v\n%s", err, &out)
	}
	return out.String() + err.Error(), coded.ExitCode()
}

// For a correct facade the command reports no difference. Its user needs only the right to list. The command names the
// resources that the user may not list.
func TestVerifyFindsNoDifference(t *testing.T) {
	cluster := suite.Cluster(t)
	s := suite.NewFixture(t, cluster)
	for i := range 20 {
		s.Put(t, suite.ConfigMaps, fmt.Sprintf("c%d", i), "t=a", "1")
	}
	facade := suite.StartDelegating(t, cluster)
	token := cluster.Token(t, s.Namespace, "verifier", testkit.TokenOptions{})
	upstream := cluster.ConfigWithToken(token)
	config := rest.CopyConfig(upstream)
	config.Host, config.CAFile, config.CAData = facade.URL, facade.Config.CAFile, nil
	names := []string{"configmaps", "secrets", "serviceaccounts", "flowschemas.flowcontrol.apiserver.k8s.io", "customresourcedefinitions"}
	text, code := verified(t, config, upstream, verify.Options{Resources: names[:1]})
	if code != 2 || !strings.Contains(text, "missing permission to list configmaps: the facade returned 403") {
		t.Errorf("without a right: %d\n%s", code, text)
	}
	mayList(t, s, "verifier", []string{"", "flowcontrol.apiserver.k8s.io", "apiextensions.k8s.io"}, "configmaps", "secrets", "serviceaccounts", "flowschemas", "customresourcedefinitions")
	testkit.Eventually(t, "kube-apiserver knows the right", func() error {
		if text, code = verified(t, config, upstream, verify.Options{Resources: names}); code != 0 {
			return fmt.Errorf("%d: %s", code, text)
		}
		return nil
	})
	for _, want := range []string{
		`(?m)^equal     json       +\d+ +\d{4,} +[2-9]\d +0  configmaps \(v1\)$`, `(?m)^equal     protobuf  .*  configmaps \(v1\)$`,
		`(?m)^equal     json .* flowschemas`, `(?m)^forwarded json .* secrets \(v1\)\n    forwarded, nothing compared$`, `(?m)^forwarded protobuf .* secrets`,
		`(?m)^8 equal, 0 different, 2 forwarded, 0 unknown, 0 without the encoding; \d+ objects\n\z`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the output lacks %s:\n%s", want, text)
		}
	}
	text, code = verified(t, config, upstream, verify.Options{Resources: []string{"configmaps", "pods"}})
	if code != 2 || !strings.Contains(text, "missing permission to list pods") || !strings.Contains(text, "2 equal, 0 different, 0 forwarded, 2 unknown") {
		t.Errorf("without one right: %d\n%s", code, text)
	}
	if text, code = verified(t, config, upstream, verify.Options{Resources: []string{"potatoes"}}); code != 2 || !strings.Contains(text, `"potatoes" matches 0 resources`) {
		t.Errorf("without a resource: %d\n%s", code, text)
	}
}

// mayList grants a service account the right to list resources.
func mayList(t *testing.T, s *suite.Fixture, account string, groups []string, resources ...string) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-" + account},
		Rules:      []rbacv1.PolicyRule{{APIGroups: groups, Resources: resources, Verbs: []string{"list"}}},
	}
	if _, err := clients.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: account}},
	}
	if _, err := clients.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A facade received another object than its kube-apiserver has. The command finds the difference, in both encodings.
func TestVerifyFindsDifferences(t *testing.T) {
	cluster := suite.Cluster(t)
	s := suite.NewFixture(t, cluster)
	s.Put(t, suite.ConfigMaps, "one", "t=a", "as-it-was-written")
	forward := suite.Forward(t, suite.FacadeConfig(t, cluster))
	kubeconfig := suite.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/configmaps") {
			w = altering{w}
		}
		forward.ServeHTTP(w, r)
	}))
	facade := suite.LaunchFacade(t, kubeconfig)
	facade.AwaitReady(t)
	text, code := verified(t, facade.Config, s.Config, verify.Options{Resources: []string{"configmaps"}})
	if code != 1 || strings.Count(text, "its object differs at byte") != 2 || !strings.Contains(text, `as-it-was-wri77en`) ||
		!strings.Contains(text, "0 equal, 2 different") {
		t.Errorf("%d\n%s", code, text)
	}
}

// altering alters one object in a response.
type altering struct{ http.ResponseWriter }

// Unwrap lets http.ResponseController flush.
func (a altering) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Write implements io.Writer.
func (a altering) Write(p []byte) (int, error) {
	return a.ResponseWriter.Write(bytes.ReplaceAll(p, []byte("as-it-was-written"), []byte("as-it-was-wri77en")))
}
