package devcluster_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/listfacade/listfacade/devcluster"
)

// patience is the timeout of each wait in a test.
const patience = 6 * time.Minute

// long skips a test in a short run. The suites of the facade start clusters in every run and find most defects.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a part of make test-long")
	}
}

// start starts a cluster that ends with the test.
func start(t *testing.T, o devcluster.Options) *devcluster.Cluster {
	t.Helper()
	o.Progress = os.Stderr // a first build takes minutes
	began := time.Now()
	cluster, err := devcluster.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %.1f s", time.Since(began).Seconds())
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// kubectl runs kubectl as a user and returns what it prints, and its error output as an error.
func kubectl(t *testing.T, cluster *devcluster.Cluster, user string, args ...string) (string, error) {
	t.Helper()
	return kubectlWithin(t.Context(), cluster, user, args...)
}

func kubectlWithin(ctx context.Context, cluster *devcluster.Cluster, user string, args ...string) (string, error) {
	info := cluster.Info()
	command := exec.CommandContext(ctx, info.Binaries["kubectl"], append([]string{"--kubeconfig", info.Kubeconfigs[user]}, args...)...)
	command.Env = append(os.Environ(), "KUBECACHEDIR="+info.Dir+"/kubectl-cache")
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), errors.New(stderr.String())
	}
	return stdout.String(), nil
}

// must fails the test when kubectl failed.
func must(t *testing.T, cluster *devcluster.Cluster, user string, args ...string) string {
	t.Helper()
	out, err := kubectl(t, cluster, user, args...)
	if err != nil {
		t.Fatalf("kubectl %v as %s: %v", args, user, err)
	}
	return out
}
