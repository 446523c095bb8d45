package verify

import (
	"testing"

	"k8s.io/client-go/rest"
)

// In the facade's own pod the command needs no flags. A flag that selects a server takes precedence.
func TestPodComparesItself(t *testing.T) {
	cluster := &rest.Config{Host: "https://10.0.0.1:443", BearerToken: "t", TLSClientConfig: rest.TLSClientConfig{CAFile: "ca.crt"}}
	inCluster := func() (*rest.Config, error) { return cluster, nil }
	facade, upstream, ok := inPod(Command().Flags(), inCluster)
	if !ok || upstream != cluster || facade.Host != "https://localhost:6443" || facade.BearerToken != "t" || !facade.Insecure || facade.CAFile != "" {
		t.Errorf("got %v, %v, %t, want the pod's facade with its token", facade, upstream, ok)
	}
	if _, _, ok := inPod(Command().Flags(), func() (*rest.Config, error) { return nil, rest.ErrNotInCluster }); ok {
		t.Error("got configurations outside of a cluster, want none")
	}
	for _, name := range []string{"against", "kubeconfig", "server"} {
		flags := Command().Flags()
		if err := flags.Set(name, "x"); err != nil {
			t.Fatal(err)
		}
		if _, _, ok := inPod(flags, inCluster); ok {
			t.Errorf("got the pod's configurations with --%s, want the flag's", name)
		}
	}
}
