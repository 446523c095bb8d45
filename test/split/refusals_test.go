package split

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/split"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// With a wrong --facade-ca-file, kubectl still writes, and reads pages from kube-apiserver. A complete list fails with
// the name of the flag.
func TestKubectlNamesWrongCAFile(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *split.Options) { o.FacadeCAFile = suite.Cluster(t).CAFile })
	k := &kubectl{testkit.NewKubectl(t, s.cluster.Binaries["kubectl"], s.client(t, "wrong-file")), metav1.NamespaceDefault}
	k.run(t, "created", "create", "configmap", "wrong-file")
	k.run(t, "wrong-file", "get", "configmaps")
	k.run(t, "deleted", "delete", "configmap", "wrong-file")
	if out := k.Run(t, "get", "--raw", "/api/v1/configmaps"); !strings.Contains(out, "--facade-ca-file") {
		t.Errorf("got %s, want --facade-ca-file", out)
	}
	if got := s.reads.all(); len(got) > 0 {
		t.Errorf("the facade received %v", got)
	}
}

// kubectl with a token for another audience prints what to do, when it reads and when it writes.
func TestKubectlExplainsTokenOfOtherAudience(t *testing.T) {
	t.Parallel()
	s := open(t)
	config := s.client(t, "audience")
	config.BearerToken = s.cluster.Token(t, metav1.NamespaceSystem, "audience", testkit.TokenOptions{Audiences: []string{"elsewhere"}})
	k := testkit.NewKubectl(t, s.cluster.Binaries["kubectl"], config)
	for _, command := range []string{"get pods", "get --raw /api/v1/secrets", "create --raw /api/v1/namespaces -f /dev/null"} {
		out := k.Run(t, strings.Fields(command)...)
		for _, want := range []string{"Warning: the bearer token was refused: use a token", "kube-apiserver", "exit code 1"} {
			if !strings.Contains(out, want) {
				t.Errorf("kubectl %s: got %s, want %q", command, out, want)
			}
		}
	}
}
