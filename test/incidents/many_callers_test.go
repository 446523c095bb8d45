package incidents

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// callerObjects is the number of objects in each caller's list.
const callerObjects = 50

// newCrowd creates a namespace with config maps, and returns the path of their list.
func newCrowd(t *testing.T) (s *suite.Fixture, path string) {
	t.Helper()
	s = suite.NewFixture(t, suite.Cluster(t))
	var writers errgroup.Group
	writers.SetLimit(16)
	for i := range callerObjects {
		writers.Go(func() error {
			object := suite.NewObject(suite.ConfigMaps, fmt.Sprint("one-", i), "", strings.Repeat("x", 500))
			_, err := s.In(suite.ConfigMaps).Create(t.Context(), object, metav1.CreateOptions{})
			return err
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	return s, suite.Collection(suite.ConfigMaps, s.Namespace)
}
