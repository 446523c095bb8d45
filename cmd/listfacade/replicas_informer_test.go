package main

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/dynamic/dynamicinformer"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
)

// TestReplicasInformer: an informer behind the balancer ends up with exactly what is there, whichever facade dies and comes back.
func TestReplicasInformer(t *testing.T) {
	for _, streaming := range []bool{true, false} {
		t.Run(fmt.Sprintf("WatchListClient=%t", streaming), func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, streaming)
			r := startReplicas(t, configMaps)
			client := newClients(t, r.front.Config)
			informer := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client.dynamic, 0, r.namespace, nil).
				ForResource(configMaps).Informer()
			start(t, informer)
			plain := newResuming(t, r.client, collection(configMaps, r.namespace))
			plain.reaches(t, r.begin)
			stop := r.keepWriting(t, configMaps, 10*time.Millisecond)
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
			r.converges(t, configMaps, informer)
			plain.reaches(t, marks[len(marks)-1])
			plain.lostNothing(t, marks, held(t, informer))
		})
	}
}
