package testkit

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultColumns are the Table columns of a resource without specific columns.
const DefaultColumns = `[{"name":"Name","type":"string","format":"name","description":"Name","priority":0}]`

// fakeStore contains the objects of a FakeUpstream and all events since its start.
type fakeStore struct {
	rv      uint64
	objects map[string]string // by key: the object's text
	events  []fakeEvent
	columns string
	changed chan struct{} // closed and replaced by every event
	dropped chan struct{} // closed and replaced when DropWatches ends all watches
}

type fakeEvent struct {
	kind string
	rv   uint64
	key  string
	text string
}

func newFakeStore() fakeStore {
	return fakeStore{rv: 1, objects: map[string]string{}, columns: DefaultColumns, changed: make(chan struct{}),
		dropped: make(chan struct{})}
}

// RV returns the resourceVersion of the last write.
func (f *FakeUpstream) RV() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.store.rv
}

// Put writes an object whose spec contains the data, and returns its resourceVersion. key is name or namespace/name.
func (f *FakeUpstream) Put(key, data string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := "ADDED"
	if _, ok := f.store.objects[key]; ok {
		kind = "MODIFIED"
	}
	rv := f.store.rv + 1
	f.store.objects[key] = f.ObjectText(key, rv, data)
	return f.happen(kind, key, f.store.objects[key])
}

// Delete removes an object and returns the resourceVersion of the deletion.
func (f *FakeUpstream) Delete(key string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.store.objects, key)
	return f.happen("DELETED", key, f.ObjectText(key, f.store.rv+1, "last"))
}

// Bookmark sends a bookmark to all watches, and returns its resourceVersion.
func (f *FakeUpstream) Bookmark() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.happen("BOOKMARK", "", f.bookmarkText(f.store.rv+1, false))
}

// Elsewhere writes to another resource: the resourceVersion increases, and no watch receives an event.
func (f *FakeUpstream) Elsewhere() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.store.rv++
	return f.store.rv
}

// happen records an event at the next resourceVersion. The caller holds f.mu.
func (f *FakeUpstream) happen(kind, key, text string) uint64 {
	f.store.rv++
	f.store.events = append(f.store.events, fakeEvent{kind: kind, rv: f.store.rv, key: key, text: text})
	close(f.store.changed)
	f.store.changed = make(chan struct{})
	return f.store.rv
}

// Rewrite changes the stored text of all objects, as an upgrade of kube-apiserver can. No resourceVersion changes, and
// no watch receives an event.
func (f *FakeUpstream) Rewrite(write func(text string) string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, text := range f.store.objects {
		f.store.objects[key] = write(text)
	}
}

// SetColumns changes the columns of the kind's Table.
func (f *FakeUpstream) SetColumns(columns string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.store.columns = columns
}

// Restore sets the upstream back to an earlier resourceVersion without objects, like an etcd that was restored from a
// backup.
func (f *FakeUpstream) Restore(rv uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.store.rv, f.store.events = rv, nil
	clear(f.store.objects)
}

// DropWatches ends every open watch cleanly.
func (f *FakeUpstream) DropWatches() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.store.dropped)
	f.store.dropped = make(chan struct{})
}

// ObjectText returns an object as the upstream writes it.
func (f *FakeUpstream) ObjectText(key string, rv uint64, data string) string {
	namespace, name, namespaced := strings.Cut(key, "/")
	if !namespaced {
		name, namespace = namespace, ""
	} else {
		namespace = fmt.Sprintf(`"namespace":%q,`, namespace)
	}
	return fmt.Sprintf(`{%s,"metadata":{"name":%q,%s"resourceVersion":"%d"%s},"spec":{"v":%q}}`,
		f.typeMeta(), name, namespace, rv, f.unset(",%s"), data)
}

func (f *FakeUpstream) typeMeta() string {
	if f.Custom {
		return fmt.Sprintf(`"apiVersion":%q,"kind":%q`, f.GVR.GroupVersion().String(), f.Kind)
	}
	return fmt.Sprintf(`"kind":%q,"apiVersion":%q`, f.Kind, f.GVR.GroupVersion().String())
}

func (f *FakeUpstream) bookmarkText(rv uint64, initialEnd bool) string {
	end, version := `"annotations":{"k8s.io/initial-events-end":"true"}`, fmt.Sprintf(`"resourceVersion":"%d"`, rv)
	if f.Custom {
		version = f.unset("%s,") + version
	} else {
		version += f.unset(",%s")
	}
	switch {
	case initialEnd && f.Custom:
		return fmt.Sprintf(`{%s,"metadata":{%s,%s}}`, f.typeMeta(), end, version)
	case initialEnd:
		return fmt.Sprintf(`{%s,"metadata":{%s,%s}}`, f.typeMeta(), version, end)
	default:
		return fmt.Sprintf(`{%s,"metadata":{%s}}`, f.typeMeta(), version)
	}
}

// FrameText returns a watch frame with the object, or with a Table if columns are given ("null" after the first frame).
func (f *FakeUpstream) FrameText(kind, object string, rv uint64, columns string) string {
	if columns != "" {
		object = fmt.Sprintf(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"%d"},"columnDefinitions":%s,`+
			`"rows":[{"cells":[%s],"object":%s}]}`, rv, columns, nameOf(object), object)
	}
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", kind, object)
}

func (f *FakeUpstream) listText(objects []string, rv uint64, next string, table bool) string {
	return f.listOf(objects, len(objects), 0, rv, next, table)
}

var nameIn = regexp.MustCompile(`"name":("[^"]*")`)

// nameOf returns the name in an object's text, as JSON. It is empty for a bookmark.
func nameOf(object string) string {
	if found := nameIn.FindStringSubmatch(object); found != nil {
		return found[1]
	}
	return `""`
}

// listOf returns one page of a list. whole is the number of a Table's rows that contain their objects. remaining is the
// number of objects after this page.
func (f *FakeUpstream) listOf(objects []string, whole, remaining int, rv uint64, next string, table bool) string {
	meta := fmt.Sprintf(`{"resourceVersion":"%d","continue":%q}`, rv, next)
	if remaining > 0 {
		meta = fmt.Sprintf(`{"resourceVersion":"%d","continue":%q,"remainingItemCount":%d}`, rv, next, remaining)
	}
	if table {
		rows := make([]string, len(objects))
		for i, object := range objects {
			name := nameOf(object)
			if i >= whole {
				object = "null"
			}
			rows[i] = `{"cells":[` + name + `],"object":` + object + `}`
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		return fmt.Sprintf(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":%s,"columnDefinitions":%s,"rows":[%s]}`+
			"\n",
			meta, f.store.columns, strings.Join(rows, ","))
	}
	items, gv := "["+strings.Join(objects, ",")+"]", f.GVR.GroupVersion().String()
	if f.Custom {
		return fmt.Sprintf(`{"apiVersion":%q,"items":%s,"kind":"%sList","metadata":%s}`+"\n", gv, items, f.Kind, meta)
	}
	items = strings.ReplaceAll(items, "{"+f.typeMeta()+",", "{") // the items of a built-in list have no type meta
	return fmt.Sprintf(`{"kind":"%sList","apiVersion":%q,"metadata":%s,"items":%s}`+"\n", f.Kind, gv, meta, items)
}

// positionOf returns how many of the sorted keys precede the page of a continue token. The token is this number, or it
// contains the key from which the page starts, as kube-apiserver's tokens do.
func positionOf(token string, keys []string) int {
	if n, err := strconv.Atoi(token); err == nil || token == "" {
		return n
	}
	var named struct{ Start string }
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &named)
	}
	if err != nil {
		panic("BUG: unknown continue token: " + token)
	}
	at, _ := slices.BinarySearch(keys, strings.TrimPrefix(named.Start, "/"))
	return at
}

func (f *FakeUpstream) list(w http.ResponseWriter, r *http.Request) {
	if f.tooLarge(w, r) {
		return
	}
	f.mu.Lock()
	keys := slices.Sorted(maps.Keys(f.store.objects))
	objects := make([]string, len(keys))
	for i, key := range keys {
		objects[i] = f.store.objects[key]
	}
	rv := f.store.rv
	f.mu.Unlock()
	from := positionOf(r.URL.Query().Get("continue"), keys)
	to, next := len(objects), ""
	if limit, _ := strconv.Atoi(r.URL.Query().Get("limit")); limit > 0 && from+limit < to {
		to, next = from+limit, strconv.Itoa(from+limit)
	}
	whole := to - from
	if r.URL.Query().Get("includeObject") == "None" {
		whole = 0
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, f.listOf(objects[from:to], whole, len(objects)-to, rv, next, wantsTable(r)))
}

func wantsTable(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "as=Table") }

// initial sends the initial events of a watch. The caller holds f.mu.
func (f *FakeUpstream) initial(q Ask, send func(fakeEvent)) {
	now := f.store.rv
	if q == AskStreaming {
		for _, key := range slices.Sorted(maps.Keys(f.store.objects)) {
			send(fakeEvent{kind: "ADDED", text: f.store.objects[key], rv: now})
		}
	}
	if f.ways.Streaming == StreamingKnown {
		send(fakeEvent{kind: "BOOKMARK", text: f.bookmarkText(now, true), rv: now})
	}
}

// watch serves a watch until DropWatches ends it, its timeout ends or the client closes it.
func (f *FakeUpstream) watch(w http.ResponseWriter, r *http.Request, q Ask) {
	query := r.URL.Query()
	at, _ := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	seconds, _ := strconv.Atoi(query.Get("timeoutSeconds"))
	if (q == AskStreaming || q == AskMarks) && f.ways.Streaming == StreamingRefused {
		Refuse(http.StatusUnprocessableEntity, "Invalid")(w, r)
		return
	}
	end := time.NewTimer(time.Duration(max(seconds, 1)) * time.Second)
	defer end.Stop()
	w.Header().Set("Content-Type", "application/json")
	f.mu.Lock()
	dropped, columns := f.store.dropped, ""
	if wantsTable(r) {
		columns = f.store.columns
	}
	// send buffers the frames, because the handler must not write to the client while it holds the lock. The client may
	// send another request before it reads, and that request also needs the lock.
	var frames bytes.Buffer
	send := func(e fakeEvent) {
		if e.kind == "BOOKMARK" && f.ways.NoBookmarks {
			return
		}
		frames.WriteString(f.FrameText(e.kind, e.text, e.rv, columns))
		at = e.rv
		if columns != "" {
			columns = "null"
		}
	}
	if q == AskStreaming || q == AskMarks {
		f.initial(q, send)
		at = f.store.rv
	}
	f.mu.Unlock()
	for {
		f.mu.Lock()
		for _, e := range f.store.events {
			if e.rv > at {
				send(e)
			}
		}
		if now := f.store.rv; q == AskProgressWatch && now > at {
			send(fakeEvent{kind: "BOOKMARK", text: f.bookmarkText(now, false), rv: now})
		}
		changed := f.store.changed
		f.mu.Unlock()
		_, _ = frames.WriteTo(w)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-changed:
		case <-dropped:
			return
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}
