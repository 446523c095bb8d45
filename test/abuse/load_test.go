package abuse

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	loadUsers     = 4
	loadInformers = 5 // of each user
	loadWrites    = 100
)

// attack counts the codes of the answers to each kind of request that a flooding client repeats until it is stopped.
type attack struct {
	mu    sync.Mutex
	codes map[string]map[int]int
}

func (a *attack) note(what string, code int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.codes[what] == nil {
		a.codes[what] = map[int]int{}
	}
	a.codes[what][code]++
}

// gets returns an error unless a request of that kind was answered with the code.
func (a *attack) gets(what string, code int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.codes[what][code] == 0 {
		return fmt.Errorf("got answers %v", a.codes[what])
	}
	return nil
}

// run sends requests of every kind until stop is closed.
func (a *attack) run(t *testing.T, s *site, flooder *visitor, stop <-chan struct{}) *sync.WaitGroup {
	t.Helper()
	anonymous := s.visitor(t, &rest.Config{})
	ways := map[string]func(i int) reply{
		"list":  func(int) reply { return flooder.get(t, s.configMaps()) },
		"watch": func(int) reply { return flooder.get(t, s.configMaps()+"?watch=1&resourceVersion=0&timeoutSeconds=1") },
		"name":  func(i int) reply { return flooder.get(t, s.configMaps()+"/random-"+strconv.Itoa(i)) },
		"token": func(i int) reply {
			return anonymous.with(t, anonymous.client, fmt.Sprintf("guess-%d-%p", i, a), s.configMaps())
		},
		"selector": func(i int) reply {
			return flooder.get(t, fmt.Sprintf("%s?labelSelector=%s%%3D%d", s.configMaps(), strings.Repeat("a/", 9<<10), i))
		},
	}
	var attackers sync.WaitGroup
	for what, once := range ways {
		for c := range 4 {
			attackers.Go(func() {
				for i := c; ; i += 4 {
					select {
					case <-stop:
						return
					default:
						a.note(what, once(i).code)
					}
				}
			})
		}
	}
	return &attackers
}

// Informers and watches of several users miss no event while another client floods the facade. Afterwards no request or
// connection of the flood remains.
func TestInformersMissNothingDuringAFlood(t *testing.T) {
	settings.Long(t)
	s := newSite(t, func(c *facade.Config) {
		c.Limits.WatchesPerUser, c.Limits.WatchRatePerUser = 3*loadInformers, 1 // with a burst of ten
		c.Authentication.FailureRate, c.Authorization.MissRate = 2, 5
	})
	truth := s.truth(t)
	handlers, connections := requests(), served()
	flooder := s.reader(t, "flooder")
	var informers []toolscache.SharedIndexInformer
	var watches []*testkit.Recorder
	for u := range loadUsers {
		user := s.reader(t, fmt.Sprintf("user-%d", u))
		for range loadInformers {
			informer := s.informer(t, user)
			suite.StartInformer(t, informer)
			informers = append(informers, informer)
		}
		asker, err := testkit.NewAsker(user.config)
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, asker.MustRecord(t, s.initially()))
	}
	a := &attack{codes: map[string]map[int]int{}}
	stop := make(chan struct{})
	attackers := a.run(t, s, flooder, stop)
	last := uint64(0)
	for i := range loadWrites {
		last = s.Put(t, suite.ConfigMaps, "object-"+strconv.Itoa(i%20), "", strconv.Itoa(i))
	}
	for _, informer := range informers {
		s.Converges(t, suite.ConfigMaps, informer)
	}
	for what, want := range map[string]int{
		"watch": http.StatusTooManyRequests, "name": http.StatusNotFound, "token": http.StatusTooManyRequests, "selector": http.StatusBadRequest,
	} {
		testkit.Eventually(t, "each "+what+" is answered as expected", func() error { return a.gets(what, want) })
	}
	close(stop)
	attackers.Wait()
	s.complete(t, truth, watches, last)
	flooder.becomes(t, s.configMaps(), http.StatusOK)
	flooder.client.CloseIdleConnections()
	for _, watch := range watches {
		_ = watch.Close()
	}
	calm(t, handlers+len(informers), connections+len(informers)+len(watches))
}

// initially is a watch that begins with all objects.
func (s *site) initially() testkit.Question {
	return testkit.Question{Path: s.configMaps() + "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=3000"}
}

// truth records kube-apiserver's own watch of the namespace.
func (s *site) truth(t *testing.T) *testkit.Recorder {
	t.Helper()
	truth := s.Upstream.MustRecord(t, s.initially())
	truth.Until(t, "the model is synced", suite.Begun)
	return truth
}

// complete compares the watches' events, up to a resourceVersion, with kube-apiserver's.
func (s *site) complete(t *testing.T, truth *testkit.Recorder, watches []*testkit.Recorder, last uint64) {
	t.Helper()
	reached := func(r *testkit.Recording) bool { return r.Reached() >= last }
	var recordings []*testkit.Recording
	for _, watch := range watches {
		watch.Until(t, "the watch sends the last write", reached)
		recordings = append(recordings, watch.SoFar())
	}
	after := s.Put(t, suite.ConfigMaps, "last", "", strconv.FormatInt(time.Now().UnixNano(), 10))
	model, err := testkit.NewModel(truth.Until(t, "the model is complete", func(r *testkit.Recording) bool { return r.Reached() >= after }))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recordings {
		if err := testkit.CheckWatch(r, model); err != nil {
			t.Error(err)
		}
	}
}
