package soak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
)

// truth records the history: the order from etcd's own watch, which survives restarts of kube-apiserver, and the bytes
// from kube-apiserver's answers to writes or, if those were lost, to reads. It owns the goroutine that watches etcd.
type truth struct {
	etcd  *etcd
	kinds []*kind

	mu        sync.Mutex // guards the fields below
	histories map[*kind]*history
	barriers  int
	seen      map[string]bool // barriers
	broken    error

	stop func() // ends the goroutine and waits for it
}

// history contains the changes of a kind since the beginning of a chapter.
type history struct {
	began   uint64
	base    map[string]uint64 // versions by key
	changes []change
	bytes   map[version][]byte
}

// version is a version of an object.
type version struct {
	key string
	rv  uint64
}

type change struct {
	version
	deleted bool
}

func newTruth(t *testing.T, e *etcd, kinds []*kind) *truth {
	t.Helper()
	truth := &truth{etcd: e, kinds: kinds, stop: func() {}}
	t.Cleanup(func() { truth.stop() })
	truth.begin(t, func(*kind) map[version][]byte { return map[version][]byte{} })
	return truth
}

// begin starts the histories of a world with etcd's current objects, whose bytes are known.
func (w *truth) begin(t *testing.T, known func(*kind) map[version][]byte) {
	t.Helper()
	w.stop()
	var there []keyValue
	var revision uint64
	testkit.Eventually(t, "etcd answers", func() (err error) {
		there, revision, err = w.etcd.all(t.Context())
		return err
	})
	histories := map[*kind]*history{}
	for _, k := range w.kinds {
		h := &history{began: revision, base: map[string]uint64{}, bytes: known(k)}
		for _, kv := range there {
			if key, ours := k.ours(string(kv.Key)); ours {
				h.base[key] = uint64(kv.Revision)
			}
		}
		histories[k] = h
	}
	w.mu.Lock()
	w.histories, w.seen = histories, map[string]bool{}
	w.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); w.follow(ctx, revision+1) }()
	w.stop = func() { cancel(); <-done }
}

// follow watches etcd until the context ends, and resumes after each kill.
func (w *truth) follow(ctx context.Context, next uint64) {
	again := time.NewTicker(pause)
	defer again.Stop()
	for ctx.Err() == nil {
		err := w.etcd.watch(ctx, next, func(answer *watchAnswer) {
			for _, event := range answer.Result.Events {
				w.note(event.KV, event.Type == "DELETE")
				next = uint64(event.KV.Revision) + 1
			}
		})
		if errors.Is(err, errCompacted) {
			w.mu.Lock()
			w.broken = err
			w.mu.Unlock()
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}

func (w *truth) note(kv keyValue, deleted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.HasPrefix(string(kv.Key), barrierPrefix) {
		w.seen[string(kv.Key)] = true
		return
	}
	for k, h := range w.histories {
		if key, ours := k.ours(string(kv.Key)); ours {
			h.changes = append(h.changes, change{version{key, uint64(kv.Revision)}, deleted})
		}
	}
}

// learn records the bytes of a version.
func (w *truth) learn(k *kind, v version, object []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.histories[k].bytes[v] = object
}

// known returns the bytes of all versions of the chapter, including those that are recorded later.
func (w *truth) known() func(*kind) map[version][]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	histories := maps.Clone(w.histories)
	return func(k *kind) map[version][]byte {
		w.mu.Lock()
		defer w.mu.Unlock()
		return maps.Clone(histories[k].bytes)
	}
}

const barrierPrefix = "/registry/soak-barrier/"

// complete waits until all changes up to now are recorded.
func (w *truth) complete(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	w.barriers++
	key := fmt.Sprint(barrierPrefix, w.barriers)
	w.mu.Unlock()
	testkit.Eventually(t, "etcd accepts a write", func() error { return w.etcd.put(t.Context(), key) })
	testkit.Eventually(t, "etcd's own watch sends all changes", func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.broken != nil {
			t.Fatal(w.broken)
		}
		if !w.seen[key] {
			return errors.New("it has not sent the barrier")
		}
		return nil
	})
}

// deletion returns the version at which an object with a version was deleted.
func (w *truth) deletion(k *kind, of version) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.histories[k].changes {
		if c.key == of.key && c.rv > of.rv && c.deleted {
			return c.rv
		}
	}
	return 0
}

// model returns the model for watches and reads of a kind.
func (w *truth) model(k *kind) (*testkit.Model, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.histories[k]
	r := &testkit.Recording{Code: 200, Question: testkit.Question{Path: k.collection(
		"watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")}}
	tell := func(kind string, object []byte) {
		r.Frames = append(r.Frames, testkit.Frame{Line: fmt.Appendf(nil, `{"type":%q,"object":%s}`, kind, object)})
	}
	now := map[string]uint64{}
	for _, key := range slices.Sorted(maps.Keys(h.base)) {
		now[key] = h.base[key]
		object, ok := h.bytes[version{key, now[key]}]
		if !ok {
			return nil, fmt.Errorf("%s %s@%d: its bytes are unknown", k.GVR.Resource, key, now[key])
		}
		tell(testkit.Added, object)
	}
	tell(testkit.Bookmark, fmt.Appendf(nil, `{"metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}`, h.began))
	for _, c := range h.changes {
		was, there := now[c.key]
		before := h.bytes[version{c.key, was}]
		switch {
		case c.deleted:
			tell(testkit.Deleted, atVersion(before, was, c.rv))
			delete(now, c.key)
			continue
		case h.bytes[c.version] == nil:
			return nil, fmt.Errorf("%s %s@%d: its bytes are unknown", k.GVR.Resource, c.key, c.rv)
		case there:
			tell(testkit.Modified, h.bytes[c.version])
		default:
			tell(testkit.Added, h.bytes[c.version])
		}
		now[c.key] = c.rv
	}
	m, err := testkit.NewModel(r)
	if err != nil {
		return nil, err
	}
	m.Close(1) // a watcher that had reached the mark missed nothing before the chapter
	return m, nil
}

// atVersion returns the object of a deletion's event: the last content with the deletion's version.
func atVersion(object []byte, was, rv uint64) []byte {
	return []byte(strings.Replace(string(object), fmt.Sprintf(`"resourceVersion":"%d"`, was), fmt.Sprintf(`"resourceVersion":"%d"`, rv), 1))
}

// turn begins the next chapter of a kind after a version that all watchers have reached.
func (w *truth) turn(k *kind, mark uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.histories[k]
	next := &history{began: mark, base: maps.Clone(old.base), bytes: map[version][]byte{}}
	for i, c := range old.changes {
		if c.rv > mark { // events expire at any time
			next.changes = slices.Clone(old.changes[i:])
			break
		}
		next.base[c.key] = c.rv
		if c.deleted {
			delete(next.base, c.key)
		}
	}
	for key, rv := range next.base {
		next.bytes[version{key, rv}] = old.bytes[version{key, rv}]
	}
	w.histories[k] = next
}

// where parses a path's query.
func where(path string) url.Values {
	u, err := url.Parse(path)
	if err != nil {
		return nil
	}
	return u.Query()
}
