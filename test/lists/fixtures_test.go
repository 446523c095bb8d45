package lists

import (
	"testing"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// newOracle asks a facade of its own and the kube-apiserver behind it.
func newOracle(t *testing.T, settings ...func(*facade.Config)) *testkit.Oracle {
	t.Helper()
	return suite.OracleOf(t, suite.StartFacade(t, suite.Cluster(t), settings...))
}
