package replay

import (
	"os"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

func TestMain(m *testing.M) { os.Exit(suite.Main(m, suite.WithoutControllers)) }
