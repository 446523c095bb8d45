package split

import (
	"log"
	"os"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

func TestMain(m *testing.M) {
	if os.Getenv(watchersOf) != "" {
		if err := runWatchers(os.Stdin, os.Stdout); err != nil {
			log.Fatal(err)
		}
		return
	}
	testkit.VerifyTestMain(m)
}
