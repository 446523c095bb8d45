// Package informer is the program that every client-go module here runs: a shared informer for the ConfigMaps of a
// namespace, as any controller has one, with a mouth. It uses only what client-go has had since 0.18, so that one text
// is compiled with each version.
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
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// Main is a main function. Its arguments are a kubeconfig, a namespace, and a media type, or an empty one for the
// default. The README describes its input and output. It returns at the end of its input.
func Main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	config.ContentType = os.Args[3]
	factory := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(config), 0, informers.WithNamespace(os.Args[2]))
	informer := factory.Core().V1().ConfigMaps().Informer()
	told := &mouth{out: bufio.NewWriter(os.Stdout)}
	informer.AddEventHandler(handler(told))
	stop := make(chan struct{})
	defer close(stop)
	go informer.Run(stop)
	if cache.WaitForCacheSync(stop, informer.HasSynced) {
		told.line("synced %d", len(informer.GetStore().List()))
	}
	for asked := bufio.NewScanner(os.Stdin); asked.Scan(); {
		told.line("state %s", digest(informer.GetStore().List()))
	}
}

// handler tells every event.
func handler(told *mouth) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o interface{}) { told.line("add %s", entry(o)) },
		UpdateFunc: func(old, o interface{}) { told.line("update %s %s", entry(o), old.(*corev1.ConfigMap).ResourceVersion) },
		DeleteFunc: func(o interface{}) {
			if missed, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = missed.Obj
			}
			told.line("delete %s", entry(o))
		},
	}
}

// entry is what a store's object is known by.
func entry(o interface{}) string {
	object := o.(*corev1.ConfigMap)
	return object.Namespace + "/" + object.Name + " " + object.ResourceVersion
}

// digest is the SHA-256 of the store's entries in order, each with a newline.
func digest(objects []interface{}) string {
	entries := make([]string, 0, len(objects))
	for _, o := range objects {
		entries = append(entries, entry(o)+"\n")
	}
	sort.Strings(entries)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(entries, ""))))
}

// mouth writes whole lines.
type mouth struct {
	mu  sync.Mutex
	out *bufio.Writer
}

func (m *mouth) line(format string, args ...interface{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprintf(m.out, format+"\n", args...)
	m.out.Flush()
}
