package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/bench/internal/proc"
	"github.com/listfacade/listfacade/bench/internal/report"
	"github.com/listfacade/listfacade/internal/testkit"
)

const (
	floodUsers     = 8
	floodInformers = 25                     // of each user
	floodFor       = 20 * time.Second       // for which objects change in quiet, beside the flood, and afterwards
	floodEvery     = 100 * time.Millisecond // an object changes
	floodObjects   = 50
	floodNamespace = "bench-flood"
	floodStamp     = "sent"
	floodPause     = 20 * time.Millisecond // between two requests of one client that floods
)

// floodPhases are what is compared; the flood is in the second.
var floodPhases = []string{"quiet", "flooded", "afterwards"}

// audience is many informers of one namespace; it notes how late each of them hears of each change.
type audience struct {
	mu     sync.Mutex
	delays map[string][]time.Duration // by phase
	phase  string
}

func (a *audience) enter(phase string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.phase = phase
}

func (a *audience) hear(object any) {
	now := time.Now()
	sent, err := strconv.ParseInt(object.(*corev1.ConfigMap).Data[floodStamp], 10, 64)
	if err != nil {
		return // as it was made
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.delays[a.phase] = append(a.delays[a.phase], now.Sub(time.Unix(0, sent)))
}

func (a *audience) heard() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.delays[a.phase])
}

// attend starts the informers, and returns when all have synced. They end with the context.
func (a *audience) attend(ctx context.Context, s *stage, f *server) error {
	var synced []toolscache.InformerSynced
	for u := range floodUsers {
		user, err := certificate(s.cluster, testkit.ClientCA, fmt.Sprintf("bench-user-%d", u), readers)
		if err != nil {
			return err
		}
		as, err := f.as(rest.Config{TLSClientConfig: user})
		if err != nil {
			return err
		}
		client, err := kubernetes.NewForConfig(as.config)
		if err != nil {
			return err
		}
		for range floodInformers {
			factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(floodNamespace))
			informer := factory.Core().V1().ConfigMaps().Informer()
			handle, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(_, object any) { a.hear(object) }})
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

// change changes one object after the other for a while, and returns when all informers have heard of all of it.
func (a *audience) change(ctx context.Context, client kubernetes.Interface) error {
	tick := time.NewTicker(floodEvery)
	defer tick.Stop()
	n := int(floodFor / floodEvery)
	for i := range n {
		<-tick.C
		if err := putStamp(ctx, client, i%floodObjects, time.Now()); err != nil {
			return err
		}
	}
	for began := time.Now(); a.heard() < n*floodUsers*floodInformers; <-tick.C {
		if time.Since(began) > arriveWithin {
			return &answerError{server: facadeName, question: "informers", what: fmt.Sprintf("heard %d of %d events", a.heard(), n*floodUsers*floodInformers)}
		}
	}
	return nil
}

// putStamp writes a moment into an object; at the zero time it makes the object.
func putStamp(ctx context.Context, client kubernetes.Interface, i int, at time.Time) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("object-%02d", i)}, Data: map[string]string{"text": strings.Repeat("x", 1000)}}
	var err error
	if at.IsZero() {
		_, err = client.CoreV1().ConfigMaps(floodNamespace).Create(ctx, object, metav1.CreateOptions{})
	} else {
		object.Data[floodStamp] = strconv.FormatInt(at.UnixNano(), 10)
		_, err = client.CoreV1().ConfigMaps(floodNamespace).Update(ctx, object, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write what informers look at: %w", err)
	}
	return nil
}

// flood is what one user, and whoever guesses tokens, ask for as fast as they are answered, with a little pause; codes
// are by what was asked.
type flood struct {
	server, nobody *server
	lists, watches codes
	names, tokens  codes
	selectors      codes
}

// run asks until the context ends.
func (f *flood) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	large := strings.Repeat("a/", 10<<10)
	for _, way := range []struct {
		clients int
		of      *codes
		by      *server
		path    func(n int64) string
		token   bool
	}{
		{clients: 4, of: &f.lists, by: f.server, path: func(int64) string { return "/api/v1/pods" }},
		{clients: 64, of: &f.watches, by: f.server, path: func(int64) string {
			return "/api/v1/pods?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da&resourceVersion=0"
		}},
		{clients: 16, of: &f.names, by: f.server, path: func(n int64) string { return fmt.Sprintf("/api/v1/namespaces/default/pods/random-%d", n) }},
		{clients: 4, of: &f.selectors, by: f.server, path: func(n int64) string { return fmt.Sprintf("/api/v1/pods?labelSelector=%s%d", large, n) }},
		{clients: 8, of: &f.tokens, by: f.nobody, path: func(int64) string { return "/api/v1/pods" }, token: true},
	} {
		for range way.clients {
			group.Go(func() error { return f.ask(ctx, way.by, way.of, way.path, way.token) })
		}
	}
	return group.Wait()
}

// ask asks again and again. What becomes of an answer that was begun is of no interest.
func (f *flood) ask(ctx context.Context, by *server, of *codes, path func(int64) string, guess bool) error {
	client, err := by.visitor(http2)
	if err != nil {
		return err
	}
	defer dismiss([]caller{{client: client}})
	tick := time.NewTicker(floodPause)
	defer tick.Stop()
	for {
		header := http.Header{"Accept-Encoding": {"gzip"}}
		if guess {
			header.Set("Authorization", fmt.Sprintf("Bearer guess-%d", rand.Int64()))
		}
		response, err := code(ctx, client, by.base+path(rand.Int64()), header)
		if err == nil {
			of.add(response.StatusCode)
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		} else if ctx.Err() == nil {
			of.add(0)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// measureFlood adds how late well-behaved informers hear of changes while one user floods, and before and after, and
// what becomes of the flood and of the facade's memory.
func measureFlood(ctx context.Context, s *stage, t *table) error {
	admin, err := s.prepareFlood(ctx)
	if err != nil {
		return err
	}
	running, err := s.usual(ctx, "--preload", "pods")
	if err != nil {
		return err
	}
	defer running.stop()
	f, err := s.newFlood(running.server)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	a := &audience{delays: map[string][]time.Duration{}}
	if err := a.attend(watching, s, running.server); err != nil {
		return err
	}
	memory := map[string]proc.Memory{}
	for _, phase := range floodPhases {
		say("informers, %s", phase)
		if err := a.listen(ctx, admin, f, phase, running.server, memory); err != nil {
			return err
		}
	}
	t.addFlood(a, f, memory)
	return nil
}

// listen goes through one phase.
func (a *audience) listen(ctx context.Context, admin kubernetes.Interface, f *flood, phase string, s *server, memory map[string]proc.Memory) error {
	if err := s.process.ResetPeak(); err != nil {
		return err
	}
	a.enter(phase)
	flooding, stop := context.WithCancel(ctx)
	defer stop()
	group, flooding := errgroup.WithContext(flooding)
	if phase == floodPhases[1] {
		group.Go(func() error { return f.run(flooding) })
	}
	err := a.change(ctx, admin)
	m, memoryErr := s.process.Memory()
	memory[phase] = m
	stop()
	return errors.Join(err, memoryErr, group.Wait())
}

// prepareFlood makes what informers look at.
func (s *stage) prepareFlood(ctx context.Context) (kubernetes.Interface, error) {
	admin, err := administrator(s.cluster)
	if err != nil {
		return nil, err
	}
	if err := admit(ctx, admin); err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: floodNamespace}}
	if _, err := admin.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	for i := range floodObjects {
		if err := putStamp(ctx, admin, i, time.Time{}); err != nil {
			return nil, err
		}
	}
	return admin, nil
}

func (s *stage) newFlood(f *server) (*flood, error) {
	user, err := certificate(s.cluster, testkit.ClientCA, "bench-flooder", readers)
	if err != nil {
		return nil, err
	}
	flooder, err := f.as(rest.Config{TLSClientConfig: user})
	if err != nil {
		return nil, err
	}
	nobody, err := f.as(rest.Config{})
	return &flood{server: flooder, nobody: nobody}, err
}

func (t *table) addFlood(a *audience, f *flood, memory map[string]proc.Memory) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, phase := range floodPhases {
		of := a.delays[phase]
		t.add(fmt.Sprintf("%d informers of %d users, %s: UPDATE sent until the informer has it, p50 / p90 / p99 / maximum of %d",
			floodUsers*floodInformers, floodUsers, phase, len(of)), "", percentiles(slices.Clone(of)), "")
	}
	for _, way := range []struct {
		what string
		of   *codes
	}{
		{"lists of all pods", &f.lists}, {"watches of a pod", &f.watches}, {"random names", &f.names},
		{"selectors of 20 KiB", &f.selectors}, {"tokens that prove nobody", &f.tokens},
	} {
		t.add("the flooder's "+way.what+": answers", "", way.of.String(), "")
	}
	for _, phase := range floodPhases {
		t.add("resident memory, "+phase+": at the end / at the most", "",
			report.Size(memory[phase].Resident)+" / "+report.Size(memory[phase].Peak), "")
	}
}
