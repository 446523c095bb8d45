package reflector

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// Metrics counts the work of the package. Implementations must be safe for concurrent use.
type Metrics interface {
	Contradicted(group, resource string) // a lane had other objects than the upstream at the same resourceVersion
	Relisted(group, resource string)     // a lane is listed again, for example after it lost events
	Reconnected(group, resource string)  // a lane's watch ended, and the lane opens another one
	Filled(source string)                // a lane was filled from "upstream", "peer" or "journal"
	// LostWindow counts lost windows of a lane. outcome is "replayed" if the differences were replayed. Otherwise it says
	// why the watches ended.
	LostWindow(group, resource, outcome string)
	// BroughtForward counts watches that begin before a lane's history. outcome is "continued" if the upstream sent the
	// events. It is "expired" if the upstream no longer has the events, and "failed" if this is unknown.
	BroughtForward(group, resource, outcome string)
	// JournalHole counts holes in the journal. reason is "relisted" if the lane was listed again, "behind" if its
	// history dropped unwritten events, and "ended" if the lane ended before its last events were written.
	JournalHole(reason string)
	JournalFailed() // the journal could not be opened or written
	selfAuditMetrics
	fresh.Metrics
}

type laneKey struct {
	gvr      schema.GroupVersionResource
	encoding wire.Encoding
}

// Lanes contains the reflectors of all lanes. The first request that needs a lane starts it.
type Lanes struct {
	client  *upstream.Client
	config  Config
	metrics Metrics
	log     *zap.Logger

	mu         sync.RWMutex // guards reflectors, life and foreign; never held during a request
	reflectors map[laneKey]*Reflector
	life       context.Context                // context of all lanes; nil before Run and after it
	foreign    func(schema.GroupVersion) bool // reports whether a group version is aggregated; nil until this is known

	checkers    *fresh.Checkers
	versions    *identity
	clusters    *identity
	definitions *definitions
	otherPasts  atomic.Int64 // how often the upstream's history contradicted a lane
	fills       *fills
	tries       *tries
	admission   *memoryAdmission
	memory      Memory
	peers       *peers
	recorder    *recorder // writes the journal; nil if there is none
	older       *olderMemory
	seen        clustersSeen
	packing     atomic.Bool
	seeking     sync.Mutex     // locked while a request checks whether an outage has ended
	background  sync.WaitGroup // waits for all goroutines of Lanes except the recorder's
}

// NewLanes returns an empty set of lanes. Run must be called before Get.
func NewLanes(client *upstream.Client, config Config, metrics Metrics, log *zap.Logger) *Lanes {
	l := &Lanes{
		client: client, config: config, metrics: metrics, log: log, reflectors: map[laneKey]*Reflector{},
		versions: newVersions(client),
		clusters: newClusters(client),
		fills:    &fills{last: map[laneKey]filled{}}, tries: &tries{done: map[laneKey]bool{}},
		admission: newMemoryAdmission(), memory: config.Memory, peers: newPeers(config.Peers, config.PeerWait),
	}
	if l.memory == nil {
		l.memory = unlimited{}
	}
	l.older, l.recorder = &olderMemory{memory: l.memory}, newRecorder(l)
	l.definitions = newDefinitions(client, l.redefined, log)
	l.checkers = fresh.NewCheckers(client, source{client: client, resource: uncached}, metrics, l.startShared)
	return l
}

// startShared runs work for all lanes in the background. It returns false before and after Run.
func (l *Lanes) startShared(work func(context.Context)) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	life := l.life
	if life != nil {
		l.background.Go(func() { work(life) })
	}
	return life != nil
}

// Run does the regular work for all lanes, such as stopping idle lanes, until the context ends. Then it stops all lanes
// and returns when their goroutines have ended. Run calls ready when Get may be used.
func (l *Lanes) Run(ctx context.Context, ready func()) {
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // lanes run until their last events are in the journal
	defer end()
	l.mu.Lock()
	l.life = life
	l.mu.Unlock()
	if l.recorder != nil {
		go l.recorder.run(ctx)
		l.recorder.awaitOpen() // before the first lane is restored from the journal
	}
	ready()
	if a := newAuditor(l); a != nil {
		l.background.Go(func() { a.run(ctx) })
	}
	if l.config.AccountFor != nil {
		l.background.Go(func() { newAccounts(l).run(ctx) })
	}
	l.background.Go(func() { l.definitions.run(ctx) })
	janitor, outage, packing, joining := time.NewTicker(janitorEvery), time.NewTicker(outageEvery),
		time.NewTicker(packEvery), time.NewTicker(joinEvery)
	defer joining.Stop()
	defer packing.Stop()
	defer janitor.Stop()
	defer outage.Stop()
	for {
		select {
		case <-janitor.C:
			l.stopIdle()
			l.endLarge()
			l.trim()
		case <-packing.C:
			l.pack()
		case <-joining.C:
			for _, r := range l.All() {
				r.checker.Join()
			}
		case <-outage.C:
			l.seekEnd(ctx)
		case <-ctx.Done():
			l.stopAll(end)
			return
		}
	}
}

const (
	janitorEvery = 10 * time.Second
	packEvery    = time.Second
	joinEvery    = 2 * time.Second // interval of Checker.Join for each lane
	// outageEvery is the interval at which Run checks whether an outage of the upstream has ended. A single failed request
	// counts as an outage until another request succeeds.
	outageEvery = 2 * time.Second
	outageWait  = 5 * time.Second // timeout of a request that normally takes a millisecond
)

// seekEnd checks whether an outage of the upstream has ended, by a request for the resource of some lane. Any response
// ends the outage.
func (l *Lanes) seekEnd(ctx context.Context) {
	all := l.All()
	if len(all) == 0 || l.client.Silent() == 0 || !l.seeking.TryLock() {
		return // no lane can be stale, there is no outage, or a check is already running
	}
	l.background.Go(func() {
		defer l.seeking.Unlock()
		ctx, cancel := context.WithTimeout(ctx, outageWait)
		defer cancel()
		// The client records whether there is a response. The resource is random, because requests for one resource may
		// fail for other reasons.
		_, _ = l.client.ResourceVersion(ctx, all[rand.IntN(len(all))].Resource)
	})
}

// Keep returns the resource's lane as Get does. When memory is needed, a kept lane that is filled is dropped last.
func (l *Lanes) Keep(resource upstream.Resource, e wire.Encoding) (*Reflector, error) {
	r, err := l.Get(resource, e)
	if err == nil {
		r.kept.Store(true)
	}
	return r, err
}

// Get returns the resource's lane in an encoding, and starts it if there is none. Its errors are *NoMemoryError,
// ErrAggregated, and, before and after Run, ErrStopped.
func (l *Lanes) Get(resource upstream.Resource, e wire.Encoding) (*Reflector, error) {
	key := laneKey{gvr: resource.GVR, encoding: e}
	if r := l.running(key, resource); r != nil {
		return r, nil
	}
	if err := l.admission.find(key, l.memory); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life == nil {
		return nil, ErrStopped
	}
	if l.foreign != nil && l.foreign(resource.GVR.GroupVersion()) {
		return nil, ErrAggregated
	}
	r := l.reflectors[key]
	if r == nil || r.overdue(resource) {
		var failure *Failure
		if r != nil {
			failure = r.Failure()
			l.background.Go(r.stop)
		}
		r = l.start(resource, e, failure)
		l.reflectors[key] = r
	}
	r.touch()
	return r, nil
}

func (l *Lanes) running(key laneKey, resource upstream.Resource) *Reflector {
	l.mu.RLock()
	defer l.mu.RUnlock()
	r := l.reflectors[key]
	if r == nil || r.overdue(resource) {
		return nil
	}
	r.touch() // while the lock keeps stopIdle from removing the lane
	return r
}

// start makes a reflector and starts to fill its lane. before is the failure of the replaced lane, or nil. The caller
// holds l.mu.
func (l *Lanes) start(resource upstream.Resource, e wire.Encoding, before *Failure) *Reflector {
	r := &Reflector{lane: l.newLane(resource, e), definitions: l.definitions}
	r.init(l.life)
	r.older.init(l.older, &l.seen, before)
	options := fresh.Options{
		Lane: r.Cache, Source: source{client: l.client, resource: resource}, Filler: r,
		Resource: resource.GVR.Resource, ReadFromEtcd: resource.ReadFromEtcd(),
	}
	if resource.Custom {
		options.Definition = r
		r.settling.Store(l.definitions.unsettled(resource.GVR.GroupResource().String()) > 0)
	}
	r.checker = l.checkers.Checker(options)
	r.writer = l.newWriter(r.lane, r.checker)
	r.Start(r.writer.run)
	return r
}

// redefined makes the lanes of a changed custom resource confirm their definition.
func (l *Lanes) redefined(now definitionMeta) {
	for _, r := range l.All() {
		was := r.definition.Load()
		if was == nil || r.Resource.GVR.GroupResource().String() != now.Name || was.version == now.ResourceVersion {
			continue
		}
		r.Start(func(ctx context.Context) {
			if was.uid != now.UID && sleep(ctx, lastDeletions) != nil {
				return
			}
			_ = r.Confirm(ctx) // if this fails, freshness checks and the next watch confirm the definition again
		})
	}
}

// lastDeletions is how long a lane continues after its definition was deleted. kube-apiserver deletes all objects
// before the definition, but these deletions may still be in transit on another connection.
const lastDeletions = 250 * time.Millisecond

// Running returns the lane of a resource, or nil if there is none. It does not start a lane.
func (l *Lanes) Running(gvr schema.GroupVersionResource, e wire.Encoding) *Reflector {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.reflectors[laneKey{gvr: gvr, encoding: e}]
}

// All returns the lanes, sorted by resource and encoding. It includes lanes that have ended but were not replaced.
func (l *Lanes) All() []*Reflector {
	l.mu.RLock()
	defer l.mu.RUnlock()
	all := make([]*Reflector, 0, len(l.reflectors))
	for _, r := range l.reflectors {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Reflector) int {
		return cmp.Or(strings.Compare(a.Resource.GVR.String(), b.Resource.GVR.String()),
			strings.Compare(a.Encoding.Name(), b.Encoding.Name()))
	})
	return all
}

func (l *Lanes) trim() {
	for _, r := range l.All() {
		r.Cache.Trim()
		r.older.trim(r.Cache)
	}
}

// pack calls cache.Lane.Pack for all lanes, in a goroutine. It does nothing while the goroutine of an earlier call
// runs.
func (l *Lanes) pack() {
	if !l.packing.CompareAndSwap(false, true) {
		return
	}
	l.background.Go(func() {
		defer l.packing.Store(false)
		for _, r := range l.All() {
			r.Cache.Pack(time.Now())
		}
	})
}

func (l *Lanes) stopIdle() {
	if l.config.Idle == 0 {
		return
	}
	for _, r := range l.All() {
		if r.Cache.Stats().Watchers > 0 {
			r.touch() // a client whose watch ends returns soon
		}
		if l.remove(r) {
			l.log.Info("Lane stopped: idle", zap.String("resource", r.Resource.GVR.GroupResource().String()))
			r.stop()
		}
	}
}

// Exclude ends the lanes of group versions that aggregated API servers serve, and prevents new lanes of these group
// versions.
func (l *Lanes) Exclude(foreign func(schema.GroupVersion) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.foreign = foreign
	for key, r := range l.reflectors {
		if l.life != nil && foreign(key.gvr.GroupVersion()) {
			delete(l.reflectors, key)
			l.background.Go(r.stop)
			l.log.Warn("Lane stopped: an aggregated API server may serve its group version",
				zap.String("resource", key.gvr.GroupResource().String()),
				zap.String("version", key.gvr.Version))
		}
	}
}

func (l *Lanes) remove(r *Reflector) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	idle := r.idleFor() > l.config.Idle && l.reflectors[r.key()] == r
	if idle {
		delete(l.reflectors, r.key())
	}
	return idle
}

func (l *Lanes) stopAll(end context.CancelFunc) {
	l.mu.Lock()
	l.life = nil
	all := l.reflectors
	l.reflectors = map[laneKey]*Reflector{}
	l.mu.Unlock()
	l.finishJournal(all)
	end()
	for _, r := range all {
		r.stop()
	}
	l.background.Wait()
}
