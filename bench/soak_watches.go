package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// attend opens watches and informers. The facade has a watch for each node, kube-apiserver only for nodes whose pods
// change. The informers are on the facade. All end with the context.
func (k *soak) attend(ctx context.Context, group *errgroup.Group) error {
	for _, of := range []struct {
		server   *server
		nodes    int
		received *subscriptions
	}{{k.facade, k.watched(), k.near}, {k.direct, soakNodes, k.far}} {
		q, err := of.server.watchFrom(ctx, "/api/v1/pods")
		if err != nil {
			return err
		}
		m := manyWatches{watches: of.nodes, protocol: http2, streams: 100, openers: openers, read: of.received.read}
		path := func(i int) string { return q.path + "&fieldSelector=spec.nodeName%3D" + k.options.pods.Node(i) }
		if _, err := m.open(ctx, group, of.server, path); err != nil {
			return err
		}
	}
	for i := range soakNamespaces {
		informer, err := k.inform(ctx, group, k.options.pods.Namespace(i))
		if err != nil {
			return err
		}
		k.informers = append(k.informers, informer)
	}
	return nil
}

// watched returns the number of nodes whose pods are watched on the facade, with one watch per node.
func (k *soak) watched() int { return min(k.options.pods.Nodes, soakWatches) }

// namespaceInformer is an informer of a namespace's pods on the facade.
type namespaceInformer struct {
	namespace string
	store     toolscache.Store
}

func (k *soak) inform(ctx context.Context, group *errgroup.Group, namespace string) (*namespaceInformer, error) {
	config := rest.CopyConfig(k.facade.config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	factory.StartWithContext(ctx)
	group.Go(func() error {
		<-ctx.Done()
		factory.Shutdown()
		return nil
	})
	if !toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, context.Cause(ctx)
	}
	return &namespaceInformer{namespace: namespace, store: informer.GetStore()}, nil
}

// informed waits until every informer has the pods of kube-apiserver.
func (k *soak) informed(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(k.direct.config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, arriveWithin)
	defer cancel()
	for _, informer := range k.informers {
		list, err := client.CoreV1().Pods(informer.namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return fmt.Errorf("list the pods of an informer: %w", err)
		}
		for {
			missing := informer.lacks(list.Items)
			if missing == "" {
				break
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return &answerError{server: k.facade.name, question: "informer of " + informer.namespace, what: missing}
			}
		}
	}
	return nil
}

// lacks describes the first difference between an informer's store and pods. It is empty if there is none.
func (n *namespaceInformer) lacks(pods []corev1.Pod) string {
	if have := len(n.store.ListKeys()); have != len(pods) {
		return fmt.Sprintf("it has %d pods, not %d", have, len(pods))
	}
	for _, pod := range pods {
		object, ok, err := n.store.GetByKey(pod.Namespace + "/" + pod.Name)
		if err != nil || !ok || object.(*corev1.Pod).ResourceVersion != pod.ResourceVersion {
			return fmt.Sprintf("%s is not at %s", pod.Name, pod.ResourceVersion)
		}
	}
	return ""
}

// samePages reads all pages of pods from both servers, at the facade's version. It fails when a page differs, and
// returns the number of pages.
func (s *stage) samePages(ctx context.Context) (pages int, err error) {
	q, err := s.facade.dated(ctx, question{
		path:     "/api/v1/pods?limit=500&resourceVersionMatch=Exact&resourceVersion=" + currentVersion,
		encoding: "identity", protocol: http2,
	})
	if err != nil {
		return 0, err
	}
	say("comparing all pages")
	want, got := q, q
	for {
		there, err := s.direct.read(ctx, want)
		if err != nil {
			return pages, err
		}
		here, err := s.facade.read(ctx, got)
		if err != nil {
			return pages, err
		}
		if err := differ(there, here); err != nil {
			return pages, &answerError{server: s.facade.name, question: got.String(), what: err.Error()}
		}
		pages++
		next, err := there.token()
		if err != nil || next == "" {
			return pages, err
		}
		own, err := here.token()
		if err != nil {
			return pages, err
		}
		const page = "/api/v1/pods?limit=500&continue="
		want.path, got.path = page+url.QueryEscape(next), page+url.QueryEscape(own)
	}
}
