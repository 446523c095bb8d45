package suite

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// The namespaces of the fixtures. In storage order all objects of "oracle-b" precede those of "oracle", because "-"
// sorts before "/" (semantics 2.7).
const (
	FirstNamespace  = "oracle"
	SecondNamespace = "oracle-b"
	EmptyNamespace  = "oracle-empty"
)

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

// Furnished returns the shared cluster with the fixtures of testdata/objects.
func Furnished(t testing.TB) *testkit.Cluster {
	t.Helper()
	if err := furnished(); err != nil {
		t.Fatal(err)
	}
	return Cluster(t)
}
