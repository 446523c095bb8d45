package questions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// oldKubectl returns the kubectl of Debian's package kubernetes-client, unpacked below bin or installed. It is years
// older than the cluster's own.
func oldKubectl(t *testing.T) string {
	t.Helper()
	places := []string{filepath.Join(suite.Programs, "debian", "usr", "bin", "kubectl"), "/usr/bin/kubectl"}
	for _, place := range places {
		if _, err := os.Stat(place); err == nil {
			return place
		}
	}
	suite.MayMiss(t, fmt.Sprintf("there is none of %v", places))
	t.Skipf("there is none of %v", places)
	return ""
}

// TestOldKubectl compares the output of an old kubectl, which sends other requests than a new one.
func TestOldKubectl(t *testing.T) {
	settings.Long(t)
	kubectls, config := kubectlsOf(t, oldKubectl(t))
	t.Log(kubectls.Facade.Run(t, "version", "--client"))
	for _, command := range []string{
		"get cm -n oracle", "get pods -A", "get pods -A -o wide", "get nodes -o wide", "get widgets -A -o wide", "get events -n oracle",
		"get deployments,services,ingresses -n oracle -o wide", "get cm alpha -n oracle -o yaml", "get pods -n oracle -o json",
		"get pods -A -l oracle", "get cm -A -l oracle=one", "get cm -A -l oracle!=one --show-labels", "get cm -l a==b==c",
		"get pods -A --field-selector spec.nodeName=node-1", "get pods -A --field-selector status.phase!=Running",
		"get cm -n oracle --field-selector metadata.name=alpha", "get widgets -A --field-selector spec.color=red",
		"get cm --field-selector spec.x=y", "get clusterroles --chunk-size=5", "get cm -A --chunk-size=1 -o name", "get cm -A --chunk-size=0",
		"get pods -A --sort-by=.metadata.name", "get nothing", "get cm missing", "get cm,secrets -n oracle --server-print=false",
		"get all -n oracle", "describe pods -n oracle", "describe nodes", "describe deployments -n oracle",
		"describe services -n oracle", "describe widgets -n oracle", "describe crd widgets.ex.io", "describe nothing",
		"explain pods.spec.containers", "explain widgets.ex.io", "api-resources", "api-versions", "version",
		"wait --for=delete cm/missing -n oracle --timeout=5s", "get --raw /api/v1/namespaces/oracle/configmaps?limit=1",
	} {
		t.Run(command, func(t *testing.T) { kubectls.CompareMasked(t, maskAges, strings.Fields(command)...) })
	}
	t.Run("watches", func(t *testing.T) { followWidgets(t, kubectls, config) })
}
