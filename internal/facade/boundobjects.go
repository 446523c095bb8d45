package facade

import (
	"bytes"
	"encoding/json"
	"time"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/serviceaccount"
	"github.com/listfacade/listfacade/internal/wire"
)

// maxBoundObjects is the maximum number of objects in boundObjects.read. Each takes about 100 bytes.
const maxBoundObjects = 65536

// boundObjects finds the objects to which tokens are bound, in lanes or in a watch of pods. Safe for concurrent use.
type boundObjects struct {
	lanes *reflector.Lanes
	pods  *podWatch
	read  *lru.Cache // decoded metadata: a serviceaccount.Object for each weak.Pointer[cache.Object]
}

func newBoundObjects(lanes *reflector.Lanes) *boundObjects {
	return &boundObjects{lanes: lanes, read: lru.New(maxBoundObjects)}
}

// find returns an object of the core group. The result is false if the object does not exist, or if neither a fresh
// lane nor a current watch contains its resource.
func (b *boundObjects) find(resource, namespace, name string) (serviceaccount.Object, bool) {
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	if state := b.fresh(resource); state != nil {
		object, ok := state.Get(key)
		if !ok {
			return serviceaccount.Object{}, false
		}
		return b.metadata(state, object)
	}
	if resource != "pods" {
		return serviceaccount.Object{}, false
	}
	pods := b.pods.current()
	if pods == nil {
		return serviceaccount.Object{}, false
	}
	return pods.Find(key)
}

// exists implements rbac.PodExists. Without a fresh lane or a current watch it returns true, because the token is
// checked again later.
func (b *boundObjects) exists(namespace, name, uid string) bool {
	if b.fresh("pods") == nil && !b.pods.isCurrent() {
		return true
	}
	pod, ok := b.find("pods", namespace, name)
	return ok && pod.UID == uid
}

func (b *boundObjects) fresh(resource string) *cache.State {
	for _, encoding := range encodings() {
		lane := b.lane(resource, encoding)
		if lane == nil || lane.StaleFor() > 0 {
			continue
		}
		if state, err := lane.Cache.State(); err == nil {
			return state
		}
	}
	return nil
}

func (b *boundObjects) lane(resource string, encoding wire.Encoding) *reflector.Reflector {
	return b.lanes.Running(schema.GroupVersionResource{Version: "v1", Resource: resource}, encoding)
}

// podsServed reports whether a lane of pods is synced. The lane may be stale.
func (b *boundObjects) podsServed() bool {
	for _, encoding := range encodings() {
		if lane := b.lane("pods", encoding); lane != nil {
			if _, err := lane.Cache.State(); err == nil {
				return true
			}
		}
	}
	return false
}

// metadata returns the UID and the deletion time of an object of a lane. The result is cached, because objects are
// immutable.
func (b *boundObjects) metadata(state *cache.State, object *cache.Object) (serviceaccount.Object, bool) {
	key := weak.Make(object)
	if known, ok := b.read.Get(key); ok {
		return known.(serviceaccount.Object), true
	}
	partial := wire.Representation{Kind: wire.Partial, Meta: wire.MetaV1}
	meta, err := decodePartial(state.Shape().AppendObject(nil, partial, object.Item(), time.Now()))
	if err != nil {
		return serviceaccount.Object{}, false
	}
	found := serviceaccount.Object{UID: string(meta.UID)}
	if meta.DeletionTimestamp != nil {
		found.Deletes = meta.DeletionTimestamp.Time
	}
	b.read.Add(key, found)
	return found, true
}

var protobufMagic = []byte("k8s\x00")

func decodePartial(body []byte) (partial metav1.PartialObjectMetadata, err error) {
	message, isProtobuf := bytes.CutPrefix(body, protobufMagic)
	if !isProtobuf {
		err = json.Unmarshal(body, &partial)
		return partial, err
	}
	var envelope runtime.Unknown
	if err = envelope.Unmarshal(message); err == nil {
		err = partial.Unmarshal(envelope.Raw)
	}
	return partial, err
}
