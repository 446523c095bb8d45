package suite

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// The namespaces of the fixtures. In storage order everything of "oracle-b" stands before everything of "oracle",
// because "-" sorts before "/" (semantics 2.7).
const (
	FirstNamespace  = "oracle"
	SecondNamespace = "oracle-b"
	EmptyNamespace  = "oracle-empty"
)

// objects is the directory of the fixtures, seen from a suite's.
var objects = filepath.Join("..", "..", "testdata", "objects")

var furnished = sync.OnceValue(func() error {
	cluster, err := shared()
	if err != nil {
		return err
	}
	config, err := cluster.Config("admin")
	if err != nil {
		return err
	}
	return testkit.Furnish(context.Background(), config, os.DirFS(objects))
})

// Furnished is the shared cluster with the fixtures of testdata/objects in it.
func Furnished(t testing.TB) *testkit.Cluster {
	t.Helper()
	if err := furnished(); err != nil {
		t.Fatal(err)
	}
	return Cluster(t)
}
