package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

// A container of overlays/journal is killed. The next container of the pod has the same volumes, and fills its lane
// from the journal.
func TestNextContainerContinuesFromTheJournal(t *testing.T) {
	cluster := deployed(t)
	kubeconfig := testkit.WriteKubeconfig(t, cluster.ConfigWithToken(cluster.Token(t, namespace, account, testkit.TokenOptions{})))
	spec := podOf(t, build(t, cluster, "overlays/journal"), "--preload=namespaces",
		"--kubeconfig="+kubeconfig, "--bind-address=127.0.0.1", "--secure-port=0")
	first := spec.start(t)
	first.readiness(t, true)
	testkit.Eventually(t, "the lane is in the journal", func() error {
		log := exec.CommandContext(t.Context(), spec.program, "log", "--journal-dir", filepath.Join(spec.volumes["journal"], "journal"), "namespaces/default")
		out, err := log.CombinedOutput()
		if err == nil && !bytes.Contains(out, []byte("existed")) {
			err = errors.New("the object is not in the journal")
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	if err := first.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.ended
	second := spec.start(t)
	second.readiness(t, true)
	reader := rest.CopyConfig(readerToken(t, cluster))
	reader.Host, reader.TLSClientConfig = "https://"+second.address, rest.TLSClientConfig{Insecure: true}
	testkit.Eventually(t, "the lane is filled from the journal", func() error {
		text := fetch(t, reader, "/metrics", http.StatusOK)
		if !strings.Contains(text, `listfacade_lane_fills_total{source="journal"} 1`) {
			return errors.New(second.output())
		}
		return nil
	})
}
