// Package informer is the program that every client-go module here runs: a shared informer for the ConfigMaps of a
// namespace that writes its events to standard output. It uses only what client-go has had since 0.18, so the same
// source compiles with every version.
package informer

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// Main is a main function. Its arguments are a kubeconfig, a namespace, and a media type or nothing for the default;
// the README describes its input and output. It returns when standard input ends.
func Main() {
	MainWith(func(config *rest.Config) (*rest.Config, error) { return config, nil })
}

// MainWith is Main with a function that changes the client configuration.
func MainWith(change func(*rest.Config) (*rest.Config, error)) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err == nil {
		config, err = change(config)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	config.ContentType = os.Args[3]
	factory := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(config), 0,
		informers.WithNamespace(os.Args[2]))
	informer := factory.Core().V1().ConfigMaps().Informer()
	events := &lineWriter{out: bufio.NewWriter(os.Stdout)}
	informer.AddEventHandler(handler(events))
	stop := make(chan struct{})
	defer close(stop)
	go informer.Run(stop)
	if cache.WaitForCacheSync(stop, informer.HasSynced) {
		events.line("synced %d", len(informer.GetStore().List()))
	}
	for requests := bufio.NewScanner(os.Stdin); requests.Scan(); {
		events.line("state %s", digest(informer.GetStore().List()))
	}
}

// handler writes a line for every event.
func handler(events *lineWriter) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o interface{}) { events.line("add %s", entry(o)) },
		UpdateFunc: func(old, o interface{}) {
			events.line("update %s %s", entry(o), old.(*corev1.ConfigMap).ResourceVersion)
		},
		DeleteFunc: func(o interface{}) {
			if missed, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = missed.Obj
			}
			events.line("delete %s", entry(o))
		},
	}
}

// entry returns an object's key and resourceVersion.
func entry(o interface{}) string {
	object := o.(*corev1.ConfigMap)
	return object.Namespace + "/" + object.Name + " " + object.ResourceVersion
}

// digest returns the SHA-256 of the store's entries in order, each with a newline.
func digest(objects []interface{}) string {
	entries := make([]string, 0, len(objects))
	for _, o := range objects {
		entries = append(entries, entry(o)+"\n")
	}
	sort.Strings(entries)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(entries, ""))))
}

// lineWriter writes complete lines. Safe for concurrent use.
type lineWriter struct {
	mu  sync.Mutex
	out *bufio.Writer
}

func (w *lineWriter) line(format string, args ...interface{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.out, format+"\n", args...)
	w.out.Flush()
}
