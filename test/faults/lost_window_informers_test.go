package faults

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// restartedInformers is the number of informers of one facade when kube-apiserver restarts. The scenario "restart" of
// bench has a thousand.
const restartedInformers = 40

// testInformersOverRestart restarts kube-apiserver, which then has no history. Informers with many selectors receive
// the changes, and none of them lists.
func testInformersOverRestart(t *testing.T, s *survivors) {
	counted := new(lists)
	config := rest.CopyConfig(s.run.Config)
	config.Wrap(counted.around)
	client := suite.NewClients(t, config).Dynamic
	informers := make([]toolscache.SharedIndexInformer, restartedInformers)
	for i := range informers {
		all := func(o *metav1.ListOptions) { o.LabelSelector = fmt.Sprintf("number!=%d", i) } // different selectors
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, s.Namespace, all)
		informers[i] = factory.ForResource(suite.ConfigMaps).Informer()
		suite.StartInformer(t, informers[i])
	}
	listed := counted.count()
	s.compact(t)
	s.survived(t)
	for _, informer := range informers {
		s.Converges(t, suite.ConfigMaps, informer)
	}
	if n := counted.count(); n != listed || listed < restartedInformers {
		t.Errorf("%d informers sent %d lists before the restart, and %d after it", len(informers), listed, n-listed)
	}
}
