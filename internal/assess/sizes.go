package assess

import (
	"errors"
	"slices"
	"strings"
)

// size is the number of objects of a resource, and of their bytes in storage.
type size struct{ objects, bytes float64 }

// sizes are the sizes of all resources that kube-apiserver stores; nil if they are unknown.
type sizes map[resource]size

// Objects for which kube-apiserver reports no size. Most kinds have 1 to 4 kB; pods of large clusters have 5 to 15 kB.
const usualBytes = 2 << 10

var errNoSizes = errors.New("no apiserver_resource_objects and no apiserver_storage_objects in it: " +
	"give the /metrics of a kube-apiserver, for example from kubectl get --raw /metrics")

// of returns the size of a resource, and whether it is known. The average size of objects is a guess if kube-apiserver
// does not report it.
func (s sizes) of(group, name string) (size, bool) {
	known, ok := s[resource{group, name}]
	if ok && known.bytes == 0 {
		known.bytes = known.objects * usualBytes
	}
	return known, ok
}

// aggregated reports whether a resource is served by another server. kube-apiserver reports the number of objects of
// all resources that it stores.
func (s sizes) aggregated(group, name string) bool {
	if s == nil {
		return slices.Contains(aggregated, group)
	}
	_, ok := s[resource{group, name}]
	return !ok && strings.Contains(group, ".") && !s.hasGroup(group)
}

func (s sizes) hasGroup(group string) bool {
	for of := range s {
		if of.group == group {
			return true
		}
	}
	return false
}
