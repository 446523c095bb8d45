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
	"github.com/listfacade/listfacade/selectors"
)

// Metrics is what the package reports about its work; implementations must be safe for concurrent use.
type Metrics interface {
	Relisted(group, resource string)    // a lane lost the upstream's window and was listed again
	Reconnected(group, resource string) // a lane's watch ended and was resumed
	fresh.Metrics
}

// Config is what every lane is made with.
type Config struct {
	Window      time.Duration // how long events are kept for replay
	WindowBytes int64         // and how many bytes of them at most, per lane
	Idle        time.Duration // a lane that nobody read for so long is stopped; 0 keeps lanes for ever
	// FieldIndexes are labels of selectable fields of built-in kinds; an equality on one reads only what matches.
	FieldIndexes []string
	// LabelIndexes are keys of labels, indexed for every resource.
	LabelIndexes []string
}

// options are the cache's for one resource. Of the fields to index those count that its kind is selected by.
func (c Config) options(r upstream.Resource) cache.Options {
	o := cache.Options{Scope: scopeOf(r), HistoryWindow: c.Window, HistoryBytes: c.WindowBytes}
	for i, field := range selectors.ForBuiltin(r.GVK, scopeOf(r)).Fields() {
		if slices.Contains(c.FieldIndexes, field.Label) {
			o.Indexes = append(o.Indexes, cache.FieldIndex(field.Label, i))
		}
	}
	for _, key := range c.LabelIndexes {
		o.Indexes = append(o.Indexes, cache.LabelIndex(key))
	}
	return o
}

// Lanes holds the lanes that are running. A lane starts with the first request that needs it.
type Set struct {
	client  *upstream.Client
	config  Config
	metrics Metrics
	log     *zap.Logger

	mu    sync.RWMutex // guards lanes and life; held for map operations only
	lanes map[schema.GroupVersionResource]*Reflector
	life  context.Context // nil until Run and after it

	provers    *fresh.Provers
	background sync.WaitGroup // questions for all lanes, and lanes that are being stopped because others took their places
}

// NewLanes makes an empty set of lanes; Run must be called before Get.
func NewSet(client *upstream.Client, config Config, metrics Metrics, log *zap.Logger) *Set {
	l := &Set{client: client, config: config, metrics: metrics, log: log, lanes: map[schema.GroupVersionResource]*Reflector{}}
	l.provers = fresh.NewProvers(client, metrics, l.shared)
	return l
}

// shared runs work for all lanes in the background; it is not started when the lanes are stopping.
func (l *Set) shared(work func(context.Context)) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	life := l.life
	if life != nil {
		l.background.Go(func() { work(life) })
	}
	return life != nil
}

// Run stops lanes that became idle, until the context ends; then it stops all lanes and returns when their goroutines have
// ended. ready is called when Get may be used.
func (l *Set) Run(ctx context.Context, ready func()) {
	l.mu.Lock()
	l.life = ctx
	l.mu.Unlock()
	ready()
	ticker := time.NewTicker(janitorEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.stopIdle()
		case <-ctx.Done():
			l.stopAll()
			return
		}
	}
}

const janitorEvery = 10 * time.Second

// Get returns the resource's lane and starts it when there is none.
func (l *Set) Get(r upstream.Resource) (*Reflector, error) {
	if lane := l.running(r); lane != nil {
		return lane, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life == nil {
		return nil, ErrStopped
	}
	lane := l.lanes[r.GVR]
	if lane == nil || lane.overdue(r) {
		if lane != nil {
			l.background.Go(lane.stop)
		}
		lane = l.start(r)
		l.lanes[r.GVR] = lane
	}
	lane.touch()
	return lane, nil
}

// running is the lane that a resource has, if it need not be started anew.
func (l *Set) running(r upstream.Resource) *Reflector {
	l.mu.RLock()
	defer l.mu.RUnlock()
	lane := l.lanes[r.GVR]
	if lane == nil || lane.overdue(r) {
		return nil
	}
	lane.touch() // before the janitor may look
	return lane
}

// start makes a lane and lets its reader run. The caller holds l.mu.
func (l *Set) start(r upstream.Resource) *Reflector {
	life, cancel := context.WithCancel(l.life)
	lane := &Reflector{Resource: r, changed: make(chan struct{}), life: life, cancel: cancel, done: make(chan struct{})}
	lane.Cache = cache.NewLane(l.config.options(r))
	lane.prover = l.provers.Prover(fresh.Options{
		Lane: lane.Cache, Source: source{client: l.client, resource: r}, Filler: lane, ReadFromEtcd: r.ReadFromEtcd(),
	})
	lane.lost()
	lane.reader = newReader(l.client, lane, l.metrics,
		l.log.With(zap.String("resource", r.GVR.GroupResource().String()), zap.String("version", r.GVR.Version)))
	lane.Start(lane.reader.run)
	return lane
}

// All lists the running lanes in the order of their names.
func (l *Set) All() []*Reflector {
	l.mu.RLock()
	defer l.mu.RUnlock()
	all := make([]*Reflector, 0, len(l.lanes))
	for _, lane := range l.lanes {
		all = append(all, lane)
	}
	slices.SortFunc(all, func(a, b *Reflector) int { return strings.Compare(a.Resource.GVR.String(), b.Resource.GVR.String()) })
	return all
}

func (l *Set) stopIdle() {
	if l.config.Idle == 0 {
		return
	}
	for _, lane := range l.All() {
		if lane.Cache.Stats().Watchers > 0 {
			lane.touch() // whose watch ends comes back in a moment
		}
		if l.remove(lane) {
			l.log.Info("lane stopped: nobody reads it", zap.String("resource", lane.Resource.GVR.GroupResource().String()))
			lane.stop()
		}
	}
}

// remove takes a lane out if it is idle, so that nobody is given it from then on.
func (l *Set) remove(lane *Reflector) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	idle := time.Since(time.Unix(0, lane.used.Load())) > l.config.Idle && l.lanes[lane.Resource.GVR] == lane
	if idle {
		delete(l.lanes, lane.Resource.GVR)
	}
	return idle
}

func (l *Set) stopAll() {
	l.mu.Lock()
	l.life = nil
	lanes := l.lanes
	l.lanes = map[schema.GroupVersionResource]*Reflector{}
	l.mu.Unlock()
	for _, lane := range lanes {
		lane.cancel()
	}
	for _, lane := range lanes {
		lane.stop()
	}
	l.background.Wait()
}
