package assess

import (
	"errors"
	"slices"
	"strings"
)

// size is the number of objects of a resource, and the number of their bytes in storage.
type size struct {
	objects, bytes float64
	guessed        bool // whether bytes is a guess
}

// sizes are the sizes of all resources that kube-apiserver stores; nil if they are unknown.
type sizes map[resource]size

var errNoSizes = errors.New("the metrics have neither apiserver_resource_objects nor apiserver_storage_objects: " +
	"give the /metrics of a kube-apiserver, for example from kubectl get --raw /metrics")

// of returns the size of a resource, and whether the number of its objects is known. The bytes may be a guess.
func (s sizes) of(group, name string) (of size, known bool) {
	of, known = s[resource{group, name}]
	if of.bytes == 0 && of.objects > 0 {
		of.bytes, of.guessed = of.objects*usualBytes(group, name), true
	}
	return of, known
}

// usualBytes returns the usual size of an object. kube-apiserver before 1.34 does not report sizes.
func usualBytes(group, name string) float64 {
	switch {
	case group == "" && name == "pods":
		return 8 << 10
	case group == "" && name == "nodes":
		return 12 << 10
	}
	return 2 << 10
}

// aggregated reports whether another server serves a resource. kube-apiserver reports the number of objects of each
// resource that it stores, and nothing about the other server's group.
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

// unsized returns the number of resources with several objects whose bytes are unknown.
func (s sizes) unsized() (n int) {
	for _, of := range s {
		if of.bytes == 0 && of.objects > 1 {
			n++
		}
	}
	return n
}
