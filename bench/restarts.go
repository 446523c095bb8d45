package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

const (
	// restartInformers is the number of informers on one server. Each informer reads the pods of a node. The informers
	// share connections like the informers of one program.
	restartInformers = 1000
	// restartMissed is the number of writes to another resource before the restart. These writes make the versions of all
	// earlier events older than the new server's watch cache.
	restartMissed = 20
	// restartWithin is the timeout until all informers have received a change after the restart. client-go waits for up to
	// 30 seconds before it retries.
	restartWithin = 5 * time.Minute
)

// returning contains the informers of one server during a restart of kube-apiserver or of the facade.
type returning struct {
	stage          *stage
	server         *server
	nodes          []string     // nodes with pods
	lists, watches atomic.Int64 // successful requests

	mu       sync.Mutex // guards the rest
	since    time.Time  // time of the awaited change
	received map[int]bool
}

// returned is the cost of a restart of kube-apiserver, or of the facade (replace).
type returned struct {
	lists, watches int64
	took           time.Duration // from the readiness of the new server until all informers have received a change
	// direct and facade are the processor times of kube-apiserver and of the facade until then. After a restart of
	// kube-apiserver, direct counts from the start of the new process, and facade from before the writes that precede
	// the end of the old one. After a restart of the facade, both count from the start of the new facade.
	direct, facade time.Duration
}

// measureRestarts adds the requests of informers after a restart of kube-apiserver, and their cost.
func measureRestarts(ctx context.Context, s *stage, t *table) error {
	s.process.stop() // the facade of the other scenarios would be one more client
	alone, err := (&returning{stage: s, server: s.direct}).goThrough(ctx, nil, 0)
	if err != nil {
		return err
	}
	direct, err := (&returning{stage: s, server: s.direct}).goThrough(ctx, nil, restartInformers)
	if err != nil {
		return err
	}
	ended, err := s.throughFacade(ctx, "--replay-lost-windows=false")
	if err != nil {
		return err
	}
	replayed, err := s.throughFacade(ctx)
	if err != nil {
		return err
	}
	t.addRestarts(alone, direct, ended, replayed)
	return s.restartFacade(ctx)
}

// restartFacade starts a new facade in place of the one that was stopped for a measurement.
func (s *stage) restartFacade(ctx context.Context) error {
	flags := append([]string{"--preload", "pods"}, highLimits...)
	process, _, err := startFacade(ctx, s.dir, s.cluster, s.direct, flags...)
	if err != nil {
		return err
	}
	s.process, s.facade = process, process.server
	return nil
}

func (t *table) addRestarts(alone, direct, ended, replayed returned) {
	const off = ", --replay-lost-windows=false"
	count := func(n int64) string { return fmt.Sprint(n) }
	t.add(fmt.Sprintf("lists of %d informers after the restart", restartInformers), count(direct.lists), count(replayed.lists), "")
	t.add(fmt.Sprintf("lists of %d informers after the restart%s", restartInformers, off), "", count(ended.lists), "")
	t.add("watches that the informers opened again", count(direct.watches), count(replayed.watches), "")
	t.add("watches that the informers opened again"+off, "", count(ended.watches), "")
	t.addDurations("time until all informers have received a change", direct.took, replayed.took)
	t.addDurations("time until all informers have received a change"+off, direct.took, ended.took)
	t.addDurations("CPU of kube-apiserver from its start until all informers have received a change", direct.direct, replayed.direct)
	t.addDurations("CPU of kube-apiserver from its start until all informers have received a change"+off, direct.direct, ended.direct)
	t.addDurations("CPU of kube-apiserver without any client", alone.direct, alone.direct)
	t.addDurations("CPU of the facade", 0, replayed.facade)
	t.addDurations("CPU of the facade"+off, 0, ended.facade)
}

// throughFacade restarts kube-apiserver behind a separate facade.
func (s *stage) throughFacade(ctx context.Context, flags ...string) (returned, error) {
	f, err := s.withoutWatchLimits(ctx, flags...)
	if err != nil {
		return returned{}, err
	}
	defer f.stop()
	return (&returning{stage: s, server: f.server}).goThrough(ctx, f.server, restartInformers)
}

// goThrough starts informers, restarts kube-apiserver and measures the recovery.
func (r *returning) goThrough(ctx context.Context, facade *server, count int) (took returned, err error) {
	pods, err := r.onePodOfEach(ctx, max(count, 1))
	if err != nil {
		return took, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	say("%s: starting %d informers", r.server.name, count)
	if err := r.attend(watching, count); err != nil {
		return took, err
	}
	if err := r.change(ctx, pods, count); err != nil {
		return took, err
	}
	before, err := cpuOf(facade)
	if err != nil {
		return took, err
	}
	r.lists.Store(0)
	r.watches.Store(0)
	if err := r.stage.restart(ctx); err != nil {
		return took, err
	}
	began := time.Now()
	if err := r.change(ctx, pods, count); err != nil {
		return took, err
	}
	took.took, took.lists, took.watches = time.Since(began), r.lists.Load(), r.watches.Load()
	after, err := cpuOf(facade)
	took.facade = after - before
	if err == nil {
		took.direct, err = r.stage.direct.process.CPU()
	}
	return took, err
}

func cpuOf(s *server) (time.Duration, error) {
	if s == nil {
		return 0, nil
	}
	return s.process.CPU()
}

// restart writes objects, kills kube-apiserver immediately afterwards, and starts it again. A graceful shutdown would
// take so long that bookmarks might still arrive.
func (s *stage) restart(ctx context.Context) error {
	say("restarting %s", apiServer)
	for i := range restartMissed {
		if err := stamp(ctx, s.direct,
			"/api/v1/namespaces/"+s.options.pods.Namespace(i%s.options.pods.Namespaces)); err != nil {
			return err
		}
	}
	for _, command := range []string{"kill", "start"} {
		if err := s.cluster.Do(ctx, apiServer, command); err != nil {
			return err
		}
	}
	var err error
	s.direct.process, err = pid(ctx, s.cluster, apiServer)
	return err
}

// onePodOfEach returns the paths of pods, one for each node, for at most the given number of nodes.
func (r *returning) onePodOfEach(ctx context.Context, most int) (paths []string, err error) {
	for i := range min(r.stage.options.pods.Nodes, most) {
		of, err := names(ctx, r.stage.direct, nodeOf(r.stage.options.pods, i))
		if err != nil {
			return nil, err
		}
		if len(of) > 0 {
			paths, r.nodes = append(paths, of[0]), append(r.nodes, r.stage.options.pods.Node(i))
		}
	}
	return paths, nil
}

// attend starts the informers, and returns when all of them have synced. The informers end with the context.
func (r *returning) attend(ctx context.Context, count int) error {
	config := rest.CopyConfig(r.server.config)
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = protobufType, protobufType+","+jsonType
	config.Wrap(r.counting)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var synced []toolscache.InformerSynced
	for i := range count {
		selector := "spec.nodeName=" + r.nodes[i%len(r.nodes)]
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithTransform(withoutContent),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = selector }))
		informer := factory.Core().V1().Pods().Informer()
		handle, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { r.receive(i, object) },
			UpdateFunc: func(_, object any) { r.receive(i, object) },
		})
		if err != nil {
			return err
		}
		synced = append(synced, handle.HasSynced)
		factory.StartWithContext(ctx)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		return context.Cause(ctx)
	}
	return nil
}

// withoutContent reduces a pod to the fields that informers compare, to limit the memory of this process.
func withoutContent(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			Annotations: pod.Annotations,
		}}, nil
	}
	return object, nil
}

// counting counts the successful requests of informers.
func (r *returning) counting(next http.RoundTripper) http.RoundTripper {
	return roundTrips(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusOK {
			return response, err
		}
		if query := request.URL.Query(); query.Get("watch") == "" || query.Get("sendInitialEvents") == "true" {
			r.lists.Add(1)
		} else {
			r.watches.Add(1)
		}
		return response, nil
	})
}

// roundTrips is an http.RoundTripper made of a function.
type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (r *returning) receive(informer int, object any) {
	pod, err := meta.Accessor(object)
	if err != nil {
		return // a tombstone
	}
	var sent int64
	if _, err := fmt.Sscan(pod.GetAnnotations()[stampKey], &sent); err != nil {
		return // the pod before its first change
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.since.IsZero() && sent >= r.since.UnixNano() {
		r.received[informer] = true
	}
}

// change writes to a pod of each node, and waits until every informer has received the change.
func (r *returning) change(ctx context.Context, pods []string, informers int) error {
	r.mu.Lock()
	r.since, r.received = time.Now(), map[int]bool{}
	r.mu.Unlock()
	if err := r.write(ctx, pods); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, restartWithin)
	defer cancel()
	for {
		r.mu.Lock()
		received := len(r.received)
		r.mu.Unlock()
		if received >= informers {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			what := fmt.Sprintf("%d of %d received the change", received, informers)
			return errors.Join(&answerError{server: r.server.name, question: "informers", what: what}, context.Cause(ctx))
		}
	}
}
