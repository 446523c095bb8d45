package incidents

import (
	"flag"
	"os"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

func TestMain(m *testing.M) {
	// client-go notices a connection that is dead within two seconds instead of 45.
	_ = os.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1")
	_ = os.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	// Incidents wait for time to pass, most of theirs, and last as long as all of them on two processors otherwise.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(suite.Main(m, suite.WithoutControllers))
}
