package timeline

import (
	"errors"
	"strings"
)

type target struct {
	resources []string // empty for all
	name      string   // name of the object; empty for all objects
}

var errTarget = errors.New("want resources, as in pods,deployments, or one object, as in pods/web-1 or pods web-1")

// parseTarget parses the arguments as kubectl does: pods,services, pods web-1 or pods/web-1.
func parseTarget(args []string) (target, error) {
	if len(args) == 0 {
		return target{}, nil
	}
	resource, name, slash := strings.Cut(args[0], "/")
	if len(args) == 2 && !slash {
		name, slash = args[1], true
	} else if len(args) > 1 {
		return target{}, errTarget
	}
	t := target{resources: strings.Split(resource, ","), name: name}
	if slash && (name == "" || len(t.resources) > 1 || strings.Contains(name, "/")) {
		return target{}, errTarget
	}
	for _, r := range t.resources {
		if r == "" {
			return target{}, errTarget
		}
	}
	return t, nil
}
