package reflector

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/wire"
)

// longestName is the length in bytes above which a lane's name is shortened. A file system allows 255, but the
// resource, group and version of a custom resource can be longer together.
const longestName = 200

func (l *lane) journalName() string {
	gvr := l.Resource.GVR
	name := strings.Join([]string{gvr.Resource, gvr.Group, gvr.Version, l.Encoding.Name()}, ".")
	if len(name) <= longestName {
		return name
	}
	return fmt.Sprintf("%s.%.8x", name[:longestName], sha256.Sum256([]byte(name)))
}

// isRecorded reports whether a lane is written to the journal. Three kinds of resources are never written. For
// resources that are read from etcd, it is unknown up to which version a lane is complete. Custom resources with an
// unreadable definition may change unnoticed. Secrets must not be written to a disk.
func (l *lane) isRecorded() bool {
	return !l.Resource.ReadFromEtcd() && !isSecret(l.Resource) && !l.Undefined()
}

// identity describes the lane's objects, and returns their listWatch. It returns nil while the lane is being listed or
// the upstream's version is unknown, and an error if the cluster is unknown.
func (l *lane) identity() (journal.Identity, *listWatch, error) {
	origin := l.origin.Load()
	by := l.synced.Load() // loaded after origin, so it is not of an earlier epoch
	version, known := origin.now()
	switch {
	case by == nil || !known || version == "":
		return journal.Identity{}, nil, nil
	case origin.cluster == "":
		return journal.Identity{}, nil, fmt.Errorf("read the cluster's UID: %w", errNoAnswer)
	}
	id := by.identity(origin.cluster, version, l.Encoding)
	id.Marked, id.Warnings, id.ListKind = l.Marked(), l.Warnings(), by.about.ListKind
	return id, by, nil
}

// identity returns the part of an identity that must be equal for a lane to be restored.
func (l *listWatch) identity(cluster, version string, e wire.Encoding) journal.Identity {
	return journal.Identity{
		Cluster: cluster, Resource: l.resource.GVR.String(), Encoding: e.Name(), Accept: l.ask.Accept, Upstream: version,
		Definition: l.defined.uid, Generation: l.defined.generation,
	}
}
