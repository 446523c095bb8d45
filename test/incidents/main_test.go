package incidents

import (
	"flag"
	"os"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

func TestMain(m *testing.M) {
	// client-go then detects a dead connection within two seconds instead of 45.
	_ = os.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1")
	_ = os.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	// Incidents mostly wait, so they run in parallel. On two processors they would otherwise run one after the
	// other.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(suite.Main(m, suite.WithoutControllers))
}
