package split

import (
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

func TestMain(m *testing.M) { testkit.VerifyTestMain(m) }
