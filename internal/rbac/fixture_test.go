package rbac

import (
	"context"
	"sync"
	"testing"
)

// start runs informers until the bubble of the test ends.
func start(t *testing.T, run func(context.Context)) {
	t.Helper()
	var wait sync.WaitGroup
	wait.Go(func() { run(t.Context()) })
	t.Cleanup(wait.Wait)
}
