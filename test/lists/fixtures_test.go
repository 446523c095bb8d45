package lists

import (
	"testing"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// newOracle returns an oracle of a new facade and its kube-apiserver.
func newOracle(t *testing.T, settings ...func(*facade.Config)) *testkit.Oracle {
	t.Helper()
	return suite.OracleOf(t, suite.StartFacade(t, suite.Cluster(t), settings...))
}
