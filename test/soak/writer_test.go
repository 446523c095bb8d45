package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// objects is the number of different objects of each kind.
const objects = 6

// written is the last write of a kind that kube-apiserver has acknowledged.
type written struct {
	version      // for a deletion, the last version before it: only etcd knows the deletion's version
	deleted bool // the object has been deleted since
}

// writer is the only client that writes the objects of a kind. It writes directly to kube-apiserver.
type writer struct {
	kind   *kind
	truth  *truth
	url    string
	client *http.Client
	random *rand.Rand

	turn   sync.Mutex // held during a write, and by quiet
	serial int        // guarded by turn
	doubts int        // writes without a usable answer; guarded by turn

	mu      sync.Mutex // guards the fields below
	last    written
	count   int
	changed chan struct{} // closed and replaced after each write
}

// newClient returns a client of kube-apiserver, with its transport to close all connections.
func newClient(config *rest.Config) (*http.Client, *http.Transport, error) {
	secure, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, nil, err
	}
	transport := &http.Transport{TLSClientConfig: secure, ForceAttemptHTTP2: true, DisableCompression: true}
	return &http.Client{Transport: transport}, transport, nil
}

// writeEvery is the time between two writes of a kind.
const writeEvery = 500 * time.Millisecond

// run writes until the context ends.
func (w *writer) run(ctx context.Context) {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		w.turn.Lock()
		w.step(ctx)
		w.turn.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// step makes one random write. The caller holds turn.
func (w *writer) step(ctx context.Context) {
	name := w.kind.name(w.random.IntN(objects))
	if w.random.IntN(5) == 0 {
		w.remove(ctx, name)
		return
	}
	w.put(ctx, name, []string{"a", "b", ""}[w.random.IntN(3)], []string{"x", ""}[w.random.IntN(2)])
}

// mark writes an object that every watcher selects, and returns its version, or 0 if the context has ended. The caller
// holds turn.
func (w *writer) mark(ctx context.Context) uint64 {
	for ctx.Err() == nil {
		if rv := w.put(ctx, w.kind.name(1), "a", ""); rv > 0 {
			return rv
		}
	}
	return 0
}

// put creates or changes an object, and returns its version, or 0 if it was not written.
func (w *writer) put(ctx context.Context, name, t, u string) uint64 {
	w.serial++
	metadata := func(absent any) map[string]any {
		label := func(value string) any {
			if value == "" {
				return absent
			}
			return value
		}
		labels := map[string]any{markLabel: w.kind.namespace, "t": label(t), "u": label(u)}
		if absent == "" {
			for _, key := range []string{"t", "u"} {
				if labels[key] == "" {
					delete(labels, key)
				}
			}
		}
		return map[string]any{"annotations": map[string]any{"serial": fmt.Sprint(w.serial)}, "labels": labels}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata(nil)})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	code, body, err := w.send(ctx, http.MethodPatch, w.kind.object(name), patch)
	if err == nil && code == http.StatusNotFound {
		content, failed := w.kind.content(name, metadata(""))
		if failed != nil {
			panic("BUG: " + failed.Error())
		}
		code, body, err = w.send(ctx, http.MethodPost, w.kind.Path(w.kind.namespace), content)
	}
	if err != nil || code/100 != 2 {
		return w.resolve(ctx, name)
	}
	return w.know(name, body)
}

func (w *writer) remove(ctx context.Context, name string) {
	before := w.latest(ctx, name)
	if before.rv == 0 {
		return
	}
	code, _, err := w.send(ctx, http.MethodDelete, w.kind.object(name)+"?gracePeriodSeconds=0", nil)
	switch {
	case err == nil && code == http.StatusNotFound: // it has expired
	case err != nil || code/100 != 2:
		w.resolve(ctx, name)
	default:
		w.acknowledge(written{version: before, deleted: true})
	}
}

// latest returns the version of an object, or 0 if it does not exist or no answer arrives.
func (w *writer) latest(ctx context.Context, name string) version {
	code, body, err := w.send(ctx, http.MethodGet, w.kind.object(name), nil)
	if err != nil || code != http.StatusOK {
		return version{}
	}
	return version{w.kind.key(name), versionOf(body)}
}

// resolve finds out the result of a write without a usable answer, for example if kube-apiserver died after the write.
// It returns the version of the existing object, or 0.
func (w *writer) resolve(ctx context.Context, name string) uint64 {
	w.doubts++
	again := time.NewTicker(pause)
	defer again.Stop()
	for ctx.Err() == nil {
		code, body, err := w.send(ctx, http.MethodGet, w.kind.object(name), nil)
		switch {
		case err == nil && code == http.StatusOK:
			return w.know(name, body)
		case err == nil && code == http.StatusNotFound:
			return 0
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
	return 0
}

// know records an object as kube-apiserver serves it.
func (w *writer) know(name string, body []byte) uint64 {
	v := version{w.kind.key(name), versionOf(body)}
	w.truth.learn(w.kind, v, bytes.TrimSuffix(body, []byte("\n")))
	w.acknowledge(written{version: v})
	return v.rv
}

func (w *writer) acknowledge(a written) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = a
	w.count++
	close(w.changed)
	w.changed = make(chan struct{})
}

// forget drops the last write, which a restore has removed.
func (w *writer) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = written{}
}

// acknowledged returns the last write, the number of writes, and a channel that is closed at the next one.
func (w *writer) acknowledged() (written, int, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.count, w.changed
}

func versionOf(object []byte) uint64 {
	var o struct {
		Metadata struct{ ResourceVersion number }
	}
	_ = json.Unmarshal(object, &o) // without a version it is empty
	return uint64(o.Metadata.ResourceVersion)
}

func (w *writer) send(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := w.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}
