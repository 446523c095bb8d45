package faults

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/dynamic/dynamicinformer"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// An informer behind the balancer converges to the upstream's state while facades are killed and restarted.
func TestReplicasInformer(t *testing.T) {
	settings.Long(t)
	for _, streaming := range []bool{true, false} {
		t.Run(fmt.Sprintf("WatchListClient=%t", streaming), func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, streaming)
			r := startReplicas(t, suite.ConfigMaps)
			client := suite.NewClients(t, r.front.Config)
			informer := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client.Dynamic, 0, r.Namespace, nil).
				ForResource(suite.ConfigMaps).Informer()
			suite.StartInformer(t, informer)
			plain := newResuming(t, r.client, suite.Collection(suite.ConfigMaps, r.Namespace))
			plain.reaches(t, r.begin)
			stop := keepWriting(t, r.Fixture, suite.ConfigMaps, 10*time.Millisecond)
			var marks []uint64
			for i := range r.runs {
				r.kill(t, i)
				marks = append(marks, r.mark(t))
				plain.reaches(t, marks[len(marks)-1]) // by the other one
				r.restart(t, i)
				marks = append(marks, r.mark(t))
				plain.reaches(t, marks[len(marks)-1])
			}
			stop()
			marks = append(marks, r.mark(t))
			r.Converges(t, suite.ConfigMaps, informer)
			plain.reaches(t, marks[len(marks)-1])
			plain.lostNothing(t, marks, suite.Held(t, informer))
		})
	}
}
