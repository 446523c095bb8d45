package reflector

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/upstream"
)

// Metrics is what the package reports about its work; implementations must be safe for concurrent use.
type Metrics interface {
	Relisted(group, resource string)    // a lane lost the upstream's window and was listed again
	Reconnected(group, resource string) // a lane's watch ended and was resumed
	fresh.Metrics
}

// Set holds the reflectors of the lanes that are running. A lane starts with the first request that needs it.
type Set struct {
	client  *upstream.Client
	config  Config
	metrics Metrics
	log     *zap.Logger

	mu         sync.RWMutex // guards reflectors and life; held for map operations only
	reflectors map[schema.GroupVersionResource]*Reflector
	life       context.Context // nil until Run and after it

	provers    *fresh.Provers
	background sync.WaitGroup // questions for all lanes, and the stops of lanes that were replaced
}

// NewSet makes an empty set of lanes; Run must be called before Get.
func NewSet(client *upstream.Client, config Config, metrics Metrics, log *zap.Logger) *Set {
	s := &Set{client: client, config: config, metrics: metrics, log: log, reflectors: map[schema.GroupVersionResource]*Reflector{}}
	s.provers = fresh.NewProvers(client, metrics, s.startShared)
	return s
}

// startShared runs work for all lanes in the background; it is not started when the lanes are stopping.
func (s *Set) startShared(work func(context.Context)) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	life := s.life
	if life != nil {
		s.background.Go(func() { work(life) })
	}
	return life != nil
}

// Run stops lanes that became idle, until the context ends; then it stops all lanes and returns when their goroutines
// have ended. ready is called when Get may be used.
func (s *Set) Run(ctx context.Context, ready func()) {
	s.mu.Lock()
	s.life = ctx
	s.mu.Unlock()
	ready()
	ticker := time.NewTicker(janitorEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.stopIdle()
		case <-ctx.Done():
			s.stopAll()
			return
		}
	}
}

const janitorEvery = 10 * time.Second

// Get returns the resource's lane and starts it when there is none.
func (s *Set) Get(resource upstream.Resource) (*Reflector, error) {
	if r := s.running(resource); r != nil {
		return r, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		return nil, ErrStopped
	}
	r := s.reflectors[resource.GVR]
	if r == nil || r.overdue(resource) {
		if r != nil {
			s.background.Go(r.stop)
		}
		r = s.start(resource)
		s.reflectors[resource.GVR] = r
	}
	r.touch()
	return r, nil
}

// running is the lane that a resource has, if it need not be started anew.
func (s *Set) running(resource upstream.Resource) *Reflector {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.reflectors[resource.GVR]
	if r == nil || r.overdue(resource) {
		return nil
	}
	r.touch() // before the janitor may look
	return r
}

// start makes a reflector and lets it fill its lane. The caller holds s.mu.
func (s *Set) start(resource upstream.Resource) *Reflector {
	r := &Reflector{Resource: resource, Cache: cache.NewLane(s.config.options(resource))}
	r.background.init(s.life)
	r.lost()
	r.prover = s.provers.Prover(fresh.Options{
		Lane: r.Cache, Source: source{client: s.client, resource: resource}, Filler: r, ReadFromEtcd: resource.ReadFromEtcd(),
	})
	r.writer = newWriter(s.client, r, s.metrics, s.log.With(
		zap.String("resource", resource.GVR.GroupResource().String()), zap.String("version", resource.GVR.Version)))
	r.Start(r.writer.run)
	return r
}

// All lists the running lanes in the order of their names.
func (s *Set) All() []*Reflector {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*Reflector, 0, len(s.reflectors))
	for _, r := range s.reflectors {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Reflector) int { return strings.Compare(a.Resource.GVR.String(), b.Resource.GVR.String()) })
	return all
}

func (s *Set) stopIdle() {
	if s.config.Idle == 0 {
		return
	}
	for _, r := range s.All() {
		if r.Cache.Stats().Watchers > 0 {
			r.touch() // whose watch ends comes back in a moment
		}
		if s.remove(r) {
			s.log.Info("lane stopped: nobody reads it", zap.String("resource", r.Resource.GVR.GroupResource().String()))
			r.stop()
		}
	}
}

// remove takes a lane out if it is idle, so that nobody is given it from then on.
func (s *Set) remove(r *Reflector) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := time.Since(time.Unix(0, r.used.Load())) > s.config.Idle && s.reflectors[r.Resource.GVR] == r
	if idle {
		delete(s.reflectors, r.Resource.GVR)
	}
	return idle
}

func (s *Set) stopAll() {
	s.mu.Lock()
	s.life = nil
	all := s.reflectors
	s.reflectors = map[schema.GroupVersionResource]*Reflector{}
	s.mu.Unlock()
	for _, r := range all {
		r.cancel()
	}
	for _, r := range all {
		r.stop()
	}
	s.background.Wait()
}
