package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/testkit"
)

// audience is a group of informers of floodNamespace on one server. It records the delay of each change at each
// informer.
type audience struct {
	server    *server
	users     int
	informers int // of each user

	mu     sync.Mutex
	delays map[string]map[int64][]time.Duration // by phase, and by the time at which the change was sent
	count  int                                  // number of delays since the current phase began
	phase  string
}

func (a *audience) size() int { return a.users * a.informers }

func (a *audience) enter(phase string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.phase, a.count = phase, 0
	if a.delays[phase] == nil {
		a.delays[phase] = map[int64][]time.Duration{}
	}
}

func (a *audience) receive(object any) {
	now := time.Now()
	sent, err := strconv.ParseInt(object.(*corev1.ConfigMap).Data[floodStamp], 10, 64)
	if err != nil {
		return // the object has no stamp before its first change
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
	a.delays[a.phase][sent] = append(a.delays[a.phase][sent], now.Sub(time.Unix(0, sent)))
}

func (a *audience) received(phase string) []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []time.Duration
	for _, of := range a.delays[phase] {
		all = append(all, of...)
	}
	return all
}

// later returns, for each informer and change of a phase, the delay beyond the median delay of the same change in
// another audience.
func (a *audience) later(phase string, than *audience) []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	than.mu.Lock()
	defer than.mu.Unlock()
	var all []time.Duration
	for sent, of := range a.delays[phase] {
		there := median(than.delays[phase][sent])
		for _, delay := range of {
			all = append(all, delay-there)
		}
	}
	return all
}

// missing returns an error unless the informers have received n changes each in this phase.
func (a *audience) missing(n int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if want := n * a.size(); a.count < want {
		return &answerError{server: a.server.name, question: "informers",
			what: fmt.Sprintf("received %d of %d events", a.count, want)}
	}
	return nil
}

// attend starts the informers, and returns when all of them have synced. The informers end with the context.
func (a *audience) attend(ctx context.Context, cluster *testkit.Cluster) error {
	a.delays = map[string]map[int64][]time.Duration{}
	var synced []toolscache.InformerSynced
	for u := range a.users {
		user, err := certificate(cluster, fmt.Sprintf("bench-user-%d", u), readers)
		if err != nil {
			return err
		}
		as, err := a.server.as(rest.Config{TLSClientConfig: user})
		if err != nil {
			return err
		}
		client, err := kubernetes.NewForConfig(as.config)
		if err != nil {
			return err
		}
		for range a.informers {
			factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(floodNamespace))
			informer := factory.Core().V1().ConfigMaps().Informer()
			handle, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(_,
				object any) {
				a.receive(object)
			}})
			if err != nil {
				return err
			}
			synced = append(synced, handle.HasSynced)
			factory.StartWithContext(ctx)
		}
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		return context.Cause(ctx)
	}
	return nil
}
